//! `NativeReply`: a reader of one reply.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use slm2_core::{ReplyEvent, ReplyReader, Template};

use crate::arguments::Ids;
use crate::errors;
use crate::held::PyArtifact;

/// Kind, text, ids, name, arguments, reason.
pub(crate) type ReplyRow = (&'static str, String, Vec<u32>, String, String, String);

/// A reader of one reply. See `slm2.engine.EngineReply`.
#[pyclass(module = "slm2._engine", frozen)]
pub(crate) struct NativeReply {
    artifact: Arc<PyArtifact>,
    /// Calls from several threads wait for each other. None of them holds it while it waits for the interpreter.
    reader: Mutex<ReplyReader>,
}

impl NativeReply {
    pub(crate) fn new(py: Python<'_>, artifact: Arc<PyArtifact>, state: &str) -> PyResult<Self> {
        let reader = Template::new(&artifact).and_then(|template| ReplyReader::new(&template, state));
        match reader {
            Ok(reader) => Ok(Self { artifact, reader: Mutex::new(reader) }),
            Err(error) => Err(errors::of_core(py, &error, None)),
        }
    }

    fn reader(&self) -> MutexGuard<'_, ReplyReader> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn template(&self, py: Python<'_>) -> PyResult<Template<'_>> {
        Template::new(&self.artifact).map_err(|error| errors::of_core(py, &error, None))
    }
}

#[pymethods]
impl NativeReply {
    /// The state of the machine, by name.
    #[getter]
    fn state(&self, py: Python<'_>) -> PyResult<String> {
        let template = self.template(py)?;
        Ok(py.detach(|| self.reader().state_name(&template).to_owned()))
    }

    /// What was said so far, as a message of a conversation, in JSON.
    #[getter]
    fn message(&self, py: Python<'_>) -> String {
        py.detach(|| self.reader().message_json())
    }

    /// What the ids say.
    fn push(&self, ids: &Bound<'_, PyAny>) -> PyResult<Vec<ReplyRow>> {
        let py = ids.py();
        let ids = Ids::of_iterable(ids)?;
        let template = self.template(py)?;
        let (first, events) = py.detach(|| {
            let mut reader = self.reader();
            (reader.position(), reader.push(&template, &ids.numbers))
        });
        events.map(rows).map_err(|error| ids.exception(py, &error, first))
    }

    /// The end, where no token ended the turn.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<ReplyRow>> {
        let template = self.template(py)?;
        let events = py.detach(|| self.reader().finish(&template));
        events.map(rows).map_err(|error| errors::of_core(py, &error, None))
    }
}

pub(crate) fn rows(events: Vec<ReplyEvent>) -> Vec<ReplyRow> {
    let row =
        |event: ReplyEvent| (event.kind.as_str(), event.text, event.ids, event.name, event.arguments, event.reason);
    events.into_iter().map(row).collect()
}
