//! `NativeComposition`: what the template made of a request.

use pyo3::prelude::*;
use pyo3::types::PyList;
use slm2_core::{Composition, JsonValue, Template};

use crate::engine::NativeEngine;
use crate::scratches::Workshop;
use crate::{arguments, errors};

/// Id, role, part, trust class, message, ranges.
type TokenRow = (u32, &'static str, &'static str, &'static str, Option<u32>, Vec<(String, usize, usize)>);

/// What the template made of a request. See `slm2.engine.EngineComposition`.
#[pyclass(module = "slm2._engine", frozen)]
pub(crate) struct NativeComposition {
    engine: Py<NativeEngine>,
    composition: Composition,
}

impl NativeComposition {
    pub(crate) fn new(engine: Bound<'_, NativeEngine>, request: JsonValue) -> PyResult<Self> {
        let py = engine.py();
        let artifact = &engine.get().artifact;
        let composed = py.detach(|| Template::new(artifact)?.compose(request));
        match composed {
            Ok(composition) => Ok(Self { engine: engine.unbind(), composition }),
            Err(error) => Err(errors::of_core(py, &error, None)),
        }
    }

    fn template(&self, py: Python<'_>) -> PyResult<Template<'_>> {
        Template::new(&self.engine.get().artifact).map_err(|error| errors::of_core(py, &error, None))
    }
}

#[pymethods]
impl NativeComposition {
    /// The ids of the prompt.
    fn ids<'py>(&self, py: Python<'py>, profile: &Bound<'_, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let profile = arguments::profile(profile)?;
        let template = self.template(py)?;
        let engine = self.engine.get();
        let encode = |workshop: &mut Workshop| {
            py.detach(|| template.ids_into(&self.composition, profile, &mut workshop.scratch, &mut workshop.ids))
                .map_err(|error| errors::of_core(py, &error, None))?;
            engine.integers.list(py, &workshop.ids)
        };
        engine.scratches.with(encode).map_err(|error| errors::of_core(py, &error, None))?
    }

    /// Each id with its origin.
    fn tokens(&self, py: Python<'_>, profile: &Bound<'_, PyAny>) -> PyResult<Vec<TokenRow>> {
        let profile = arguments::profile(profile)?;
        let template = self.template(py)?;
        let encode = |workshop: &mut Workshop| template.tokens(&self.composition, profile, &mut workshop.scratch);
        let tokens = py.detach(|| self.engine.get().scratches.with(encode)?);
        let tokens = tokens.map_err(|error| errors::of_core(py, &error, None))?;
        let row = |token: slm2_core::Token| {
            let ranges = token.ranges.iter().map(|(source, start, end)| (source.to_string(), *start, *end)).collect();
            (token.id.get(), token.role, token.part, token.trust, token.message, ranges)
        };
        Ok(tokens.into_iter().map(row).collect())
    }

    /// The prompt as text.
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        let template = self.template(py)?;
        Ok(py.detach(|| template.text(&self.composition)))
    }

    /// `(source, offset, id)` of the texts of special tokens in callers' text.
    fn findings(&self, py: Python<'_>) -> PyResult<Vec<(String, usize, u32)>> {
        let template = self.template(py)?;
        let findings = py.detach(|| template.findings(&self.composition));
        Ok(findings.iter().map(|found| (found.source.to_string(), found.offset, found.id.get())).collect())
    }

    /// Messages whose reasoning was left out.
    #[getter]
    fn dropped_reasoning(&self) -> Vec<u32> {
        self.composition.dropped_reasoning().to_vec()
    }

    /// The state in which the machine is.
    #[getter]
    fn state(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.template(py)?.state_name(&self.composition).to_owned())
    }
}
