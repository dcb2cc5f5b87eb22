//! `NativeStream`: a strict streaming decoder.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use slm2_core::{SpecialPolicy, StreamDecoder, Tokenizer};

use crate::arguments::Ids;
use crate::errors;
use crate::held::PyArtifact;

/// A strict streaming decoder. See `slm2.engine.EngineStream`.
#[pyclass(module = "slm2._engine", frozen)]
pub(crate) struct NativeStream {
    artifact: Arc<PyArtifact>,
    /// Calls from several threads wait for each other. None of them holds it while it waits for the interpreter.
    decoder: Mutex<StreamDecoder>,
}

impl NativeStream {
    pub(crate) fn new(artifact: Arc<PyArtifact>, special: SpecialPolicy) -> Self {
        Self { artifact, decoder: Mutex::new(StreamDecoder::new(special)) }
    }

    fn decoder(&self) -> MutexGuard<'_, StreamDecoder> {
        self.decoder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl NativeStream {
    /// Bytes that have come and were not delivered: an open scalar value, or what made the decoder fail.
    #[getter]
    fn pending<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let pending = py.detach(|| self.decoder().pending().to_vec());
        PyBytes::new(py, &pending)
    }

    /// Text that became complete; a failure keeps the text of this call in the field `text`.
    fn push(&self, ids: &Bound<'_, PyAny>) -> PyResult<String> {
        let py = ids.py();
        let ids = Ids::of_iterable(ids)?;
        let (first, text) = py.detach(|| {
            let mut decoder = self.decoder();
            (decoder.position(), decoder.push(&Tokenizer::new(&self.artifact), &ids.numbers))
        });
        text.map_err(|error| ids.exception(py, &error, first))
    }

    /// End the stream; refuses an open scalar value.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.decoder().finish()).map_err(|error| errors::of_core(py, &error, None))
    }
}
