//! `NativeChunks` and `NativeText`: a text that arrives in parts, and one that grows.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use slm2_core::{ChunkEncoder, Error, GrowingText, Profile, Scratch, TokenId, Tokenizer};

use crate::arguments;
use crate::engine::{DETACHED, u32_bytes};
use crate::errors;
use crate::held::PyArtifact;
use crate::integers::Integers;
use crate::scratches::Scratches;

/// Something over an artifact that has a state. Calls from several threads wait for each other; none of them holds the lock while it
/// waits for the interpreter.
pub(crate) struct Shared<T> {
    artifact: Arc<PyArtifact>,
    scratches: Arc<Scratches>,
    state: Mutex<T>,
}

impl<T: Send + Clone> Shared<T> {
    pub(crate) fn new(artifact: Arc<PyArtifact>, scratches: Arc<Scratches>, state: T) -> Self {
        Self { artifact, scratches, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, T> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn copy(&self) -> Self {
        Self::new(Arc::clone(&self.artifact), Arc::clone(&self.scratches), self.state().clone())
    }

    /// Do something with the state, without the interpreter's lock where that may take long or another thread is at it.
    fn work<R: Send>(
        &self,
        py: Python<'_>,
        short: impl FnOnce(&T) -> bool,
        work: impl FnOnce(&mut T, &Tokenizer<'_>, &mut Scratch) -> Result<R, Error> + Send,
    ) -> PyResult<R> {
        let work = |mut state: MutexGuard<'_, T>| {
            let tokenizer = Tokenizer::new(&self.artifact);
            self.scratches.with(|workshop| work(&mut state, &tokenizer, &mut workshop.scratch))?
        };
        let free = self.state.try_lock().ok().filter(|state| short(state));
        let done = match free {
            Some(state) => work(state),
            None => py.detach(|| work(self.state())),
        };
        done.map_err(|error| errors::of_core(py, &error, None))
    }
}

fn numbers(ids: Vec<TokenId>) -> Vec<u32> {
    ids.into_iter().map(TokenId::get).collect()
}

/// The ids of a text that arrives in parts. See `slm2.engine.EngineChunks`.
#[pyclass(module = "slm2._engine", frozen)]
pub(crate) struct NativeChunks(Shared<ChunkEncoder>);

impl NativeChunks {
    pub(crate) fn new(artifact: Arc<PyArtifact>, scratches: Arc<Scratches>, profile: Profile) -> Self {
        Self(Shared::new(artifact, scratches, ChunkEncoder::new(profile)))
    }

    fn pushed(&self, data: &Bound<'_, PyAny>) -> PyResult<Vec<TokenId>> {
        let bytes = arguments::bytes("data", data)?;
        self.ids(data.py(), |chunks, tokenizer, scratch, ids| chunks.push(tokenizer, &bytes, scratch, ids))
    }

    fn finished(&self, py: Python<'_>) -> PyResult<Vec<TokenId>> {
        self.ids(py, ChunkEncoder::finish)
    }

    fn ids(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut ChunkEncoder, &Tokenizer<'_>, &mut Scratch, &mut Vec<TokenId>) -> Result<(), Error> + Send,
    ) -> PyResult<Vec<TokenId>> {
        self.0.work(
            py,
            |_| false,
            |chunks, tokenizer, scratch| {
                let mut ids = Vec::new();
                work(chunks, tokenizer, scratch, &mut ids)?;
                Ok(ids)
            },
        )
    }
}

#[pymethods]
impl NativeChunks {
    /// Bytes that wait for what comes after them.
    #[getter]
    fn pending(&self, py: Python<'_>) -> usize {
        py.detach(|| self.0.state().pending())
    }

    /// The ids that are certain with these bytes.
    fn push(&self, data: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
        self.pushed(data).map(numbers)
    }

    /// The same as little-endian u32.
    fn push_u32<'py>(&self, data: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        u32_bytes(data.py(), &self.pushed(data)?)
    }

    /// The ids of what waits, if the text ended here.
    fn rest(&self, py: Python<'_>) -> PyResult<Vec<u32>> {
        self.ids(py, |chunks, tokenizer, scratch, ids| chunks.rest(tokenizer, scratch, ids)).map(numbers)
    }

    /// End the text: the ids of what waits.
    fn finish(&self, py: Python<'_>) -> PyResult<Vec<u32>> {
        self.finished(py).map(numbers)
    }

    /// The same as little-endian u32.
    fn finish_u32<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        u32_bytes(py, &self.finished(py)?)
    }
}

/// The ids of a text that grows at its end. See `slm2.engine.EngineText`.
#[pyclass(module = "slm2._engine", frozen)]
pub(crate) struct NativeText {
    shared: Shared<GrowingText>,
    integers: Arc<Integers>,
}

impl NativeText {
    pub(crate) const fn new(shared: Shared<GrowingText>, integers: Arc<Integers>) -> Self {
        Self { shared, integers }
    }
}

#[pymethods]
impl NativeText {
    /// How many ids the text has.
    #[getter]
    fn count(&self, py: Python<'_>) -> usize {
        py.detach(|| self.shared.state().count())
    }

    /// Another one that goes on from here.
    fn copy(&self, py: Python<'_>) -> Self {
        Self::new(py.detach(|| self.shared.copy()), Arc::clone(&self.integers))
    }

    /// How many of the ids stay, and those that come after them.
    fn append<'py>(&self, data: &Bound<'py, PyAny>) -> PyResult<(usize, Bound<'py, PyList>)> {
        let bytes = arguments::bytes("data", data)?;
        let append = |text: &mut GrowingText, tokenizer: &Tokenizer<'_>, scratch: &mut Scratch| {
            text.append(tokenizer, &bytes, scratch)
        };
        let short = |text: &GrowingText| text.pending() + bytes.len() < DETACHED;
        let growth = self.shared.work(data.py(), short, append)?;
        Ok((growth.keep, self.integers.list(data.py(), &growth.ids)?))
    }
}
