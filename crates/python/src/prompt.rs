//! `NativeAssembly`: a prompt within its budget.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use slm2_core::prompt::{Assembly, Prompt, PromptToken};
use slm2_core::{JsonValue, OnSpecial};

use crate::arguments::{self, Ids};
use crate::engine::NativeEngine;
use crate::errors;

/// Id, role, part, trust class, message, ranges.
type TokenRow<'py> =
    (u32, &'static str, &'static str, &'static str, Option<u32>, Vec<(Bound<'py, PyString>, u32, u32)>);

/// A prompt within its budget. See `slm2.engine.EngineAssembly`.
#[pyclass(module = "slm2._engine", frozen)]
pub(crate) struct NativeAssembly {
    engine: Py<NativeEngine>,
    assembly: Assembly,
}

impl NativeAssembly {
    pub(crate) fn new(
        engine: Bound<'_, NativeEngine>,
        request: JsonValue,
        profile: &Bound<'_, PyAny>,
        on_special: OnSpecial,
    ) -> PyResult<Self> {
        let py = engine.py();
        let profile = arguments::profile(profile)?;
        let opened = engine.get();
        let assembled = py.detach(|| {
            let prompt = Prompt::new(&opened.artifact)?;
            opened.scratches.with(|workshop| prompt.assemble(request, profile, on_special, &mut workshop.scratch))?
        });
        match assembled {
            Ok(assembly) => Ok(Self { engine: engine.unbind(), assembly }),
            Err(error) => Err(errors::of_core(py, &error, None)),
        }
    }
}

#[pymethods]
impl NativeAssembly {
    /// The ids of the prompt.
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.engine.get().integers.list(py, self.assembly.input_ids())
    }

    /// Each id with its origin.
    fn tokens<'py>(&self, py: Python<'py>) -> Vec<TokenRow<'py>> {
        let names: Vec<_> = self.assembly.source_names().iter().map(|name| PyString::new(py, name)).collect();
        let row = |token: PromptToken<'_>| {
            let ranges = token
                .ranges
                .iter()
                .filter_map(|(source, start, end)| Some((names.get(*source as usize)?.clone(), *start, *end)));
            (token.id.get(), token.role, token.part, token.trust, token.message, ranges.collect())
        };
        self.assembly.tokens().map(row).collect()
    }

    /// The report as JSON, without ids and tokens.
    fn report(&self) -> String {
        self.assembly.report_json()
    }

    /// All of it as JSON.
    fn to_json(&self, py: Python<'_>) -> String {
        py.detach(|| self.assembly.to_json())
    }

    /// What it keeps of a cache that holds these ids, as JSON.
    fn delta(&self, cached: &Bound<'_, PyAny>) -> PyResult<String> {
        Ok(self.assembly.delta(&Ids::of_iterable(cached)?.numbers).to_json())
    }
}
