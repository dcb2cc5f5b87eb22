//! `NativeGeneratedText`: the text of ids that were drawn, until something ends it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use slm2_core::sampling::GenerationConfig;
use slm2_core::{EndReason, GeneratedText, SpecialPolicy, Tokenizer};

use crate::errors;
use crate::held::PyArtifact;
use crate::sampler::core_config;

/// The text of ids that were drawn. See `slm2.engine.EngineGeneratedText`.
#[pyclass(module = "slm2._engine", frozen)]
pub(crate) struct NativeGeneratedText {
    artifact: Arc<PyArtifact>,
    /// Calls from several threads wait for each other. None of them holds it while it waits for the interpreter.
    text: Mutex<GeneratedText>,
}

impl NativeGeneratedText {
    pub(crate) fn new(artifact: Arc<PyArtifact>, config: &Bound<'_, PyAny>, special: SpecialPolicy) -> PyResult<Self> {
        let config = GenerationConfig {
            sampling: core_config(config)?,
            max_tokens: config.getattr("max_tokens")?.extract()?,
            stop_ids: config.getattr("stop_ids")?.extract()?,
            stop_strings: config.getattr("stop_strings")?.extract()?,
        };
        Ok(Self { artifact, text: Mutex::new(GeneratedText::new(&config, special)) })
    }

    fn text(&self) -> MutexGuard<'_, GeneratedText> {
        self.text.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl NativeGeneratedText {
    /// Refuse an id where it has ended.
    fn check_open(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.text().check_open()).map_err(|error| errors::of_core(py, &error, None))
    }

    /// Take an id that was drawn.
    fn take(&self, py: Python<'_>, token: u32) -> PyResult<String> {
        let text = py.detach(|| self.text().take(&Tokenizer::new(&self.artifact), token));
        text.map_err(|error| errors::of_core(py, &error, None))
    }

    /// All ids that were taken.
    #[getter]
    fn ids(&self, py: Python<'_>) -> Vec<u32> {
        py.detach(|| self.text().ids().to_vec())
    }

    /// All text that was delivered.
    #[getter(text)]
    fn whole(&self, py: Python<'_>) -> String {
        py.detach(|| self.text().text().to_owned())
    }

    /// Why it ended.
    #[getter]
    fn reason(&self, py: Python<'_>) -> Option<&'static str> {
        py.detach(|| self.text().reason()).map(EndReason::as_str)
    }

    /// The limit that was met.
    #[getter]
    fn stopped_by(&self, py: Python<'_>) -> Option<&'static str> {
        py.detach(|| self.text().stopped_by()).map(EndReason::as_str)
    }

    /// Which string ended it.
    #[getter]
    fn stop_string(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| self.text().stop_string().map(str::to_owned))
    }

    /// Bytes that came and are no text.
    #[getter]
    fn pending<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let pending = py.detach(|| self.text().pending().to_vec());
        PyBytes::new(py, &pending)
    }
}
