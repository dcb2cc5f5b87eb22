//! `NativeSession`: a conversation that keeps its cache.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use slm2_core::{Delta, Error, Scratch, Session, SessionOptions, Template};

use crate::arguments::{self, Ids};
use crate::engine::NativeEngine;
use crate::errors;
use crate::reply::{ReplyRow, rows};
use crate::values;

/// Ids to keep, ids to append, what was lost, state.
type DeltaRow<'py> = (usize, Bound<'py, PyList>, Vec<(usize, usize, &'static str)>, String);

/// A conversation that keeps its cache. See `slm2.engine.EngineSession`.
#[pyclass(module = "slm2._engine", frozen)]
pub(crate) struct NativeSession {
    engine: Py<NativeEngine>,
    /// Calls from several threads wait for each other. None of them holds it while it waits for the interpreter.
    session: Mutex<Session>,
}

impl NativeSession {
    pub(crate) fn new(
        engine: &Bound<'_, NativeEngine>,
        profile: &Bound<'_, PyAny>,
        tools: &Bound<'_, PyAny>,
        enable_thinking: Option<bool>,
        preserve_thinking: bool,
    ) -> PyResult<Self> {
        let profile = arguments::profile(profile)?;
        let options = SessionOptions { tools: values::json(tools)?, enable_thinking, preserve_thinking };
        Self::made(engine, |template, _| Session::new(template, profile, options))
    }

    pub(crate) fn restored(engine: &Bound<'_, NativeEngine>, data: &Bound<'_, PyAny>) -> PyResult<Self> {
        let data = arguments::bytes("data", data)?;
        Self::made(engine, |template, scratch| Session::restore(template, &data, scratch))
    }

    fn made(
        engine: &Bound<'_, NativeEngine>,
        make: impl FnOnce(&Template<'_>, &mut Scratch) -> Result<Session, Error> + Send,
    ) -> PyResult<Self> {
        let session =
            work(engine.py(), engine.get(), make).map_err(|error| errors::of_core(engine.py(), &error, None))?;
        Ok(Self { engine: engine.clone().unbind(), session: Mutex::new(session) })
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn delta<'py>(
        &self,
        py: Python<'py>,
        make: impl FnOnce(&mut Session, &Template<'_>, &mut Scratch) -> Result<Delta, Error> + Send,
    ) -> PyResult<DeltaRow<'py>> {
        let engine = self.engine.get();
        let delta = work(py, engine, |template, scratch| make(&mut self.session(), template, scratch));
        let delta = delta.map_err(|error| errors::of_core(py, &error, None))?;
        let lost = delta.lost.iter().map(|loss| (loss.message, loss.ids, loss.reason.as_str())).collect();
        Ok((delta.keep, engine.integers.list(py, &delta.append)?, lost, delta.state))
    }
}

/// Do something with the template without the interpreter's lock.
fn work<T: Send>(
    py: Python<'_>,
    engine: &NativeEngine,
    work: impl FnOnce(&Template<'_>, &mut Scratch) -> Result<T, Error> + Send,
) -> Result<T, Error> {
    py.detach(|| {
        let template = Template::new(&engine.artifact)?;
        engine.scratches.with(|workshop| work(&template, &mut workshop.scratch))?
    })
}

#[pymethods]
impl NativeSession {
    /// The conversation so far, each message as JSON.
    #[getter]
    fn messages(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.session().messages().map(str::to_owned).collect())
    }

    /// What the cache holds when every delta was followed.
    #[getter]
    fn cached_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let ids = py.detach(|| self.session().cached_ids());
        self.engine.get().integers.list(py, &ids)
    }

    /// Add messages and ask for a reply.
    fn extend<'py>(&self, messages: &Bound<'py, PyAny>, enable_thinking: Option<bool>) -> PyResult<DeltaRow<'py>> {
        let value = values::json(messages)?;
        self.delta(messages.py(), |session, template, scratch| {
            session.extend(template, value, enable_thinking, scratch)
        })
    }

    /// Add the reply to the last prompt by its ids.
    fn reply(&self, ids: &Bound<'_, PyAny>) -> PyResult<Vec<ReplyRow>> {
        let py = ids.py();
        let ids = Ids::of_iterable(ids)?;
        let events = work(py, self.engine.get(), |template, _| self.session().reply(template, &ids.numbers));
        events.map(rows).map_err(|error| ids.exception(py, &error, 0))
    }

    /// The prompt up to the last turn as it is once a user turn follows.
    fn settled<'py>(&self, py: Python<'py>) -> PyResult<DeltaRow<'py>> {
        self.delta(py, |session, template, scratch| session.settled(template, scratch))
    }

    /// The same, and the cache holds it from now on.
    fn settle<'py>(&self, py: Python<'py>) -> PyResult<DeltaRow<'py>> {
        self.delta(py, Session::settle)
    }

    /// Another one that goes on from here.
    fn fork(&self, py: Python<'_>) -> Self {
        let session = py.detach(|| self.session().clone());
        Self { engine: self.engine.clone_ref(py), session: Mutex::new(session) }
    }

    /// A checkpoint.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let text = work(py, self.engine.get(), |template, _| Ok(self.session().save(template)));
        text.map(|text| PyBytes::new(py, text.as_bytes())).map_err(|error| errors::of_core(py, &error, None))
    }
}
