//! `NativeTokenizer`: the calls of `slm2.Tokenizer` that are made for every short message, without a frame of Python between.

use std::convert::Infallible;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use slm2_core::{Profile, TokenId};

use crate::arguments;
use crate::arrays;
use crate::engine::NativeEngine;

/// What `slm2.native_tokenizer.NativeTokenizer` takes from the engine; all other calls are those of `slm2.Tokenizer`.
#[pyclass(module = "slm2._engine", frozen, subclass)]
pub(crate) struct NativeTokenizer {
    engine: Py<NativeEngine>,
    profile: Profile,
}

/// The argument `on_special`.
#[derive(Clone, Copy)]
pub(crate) enum OnSpecial<'a, 'py> {
    /// It was not given: `literal`.
    Literal,
    Given(Borrowed<'a, 'py, PyAny>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for OnSpecial<'a, 'py> {
    type Error = Infallible;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> Result<Self, Infallible> {
        Ok(Self::Given(value))
    }
}

impl NativeTokenizer {
    /// Do something with the ids of a text.
    fn ids<'py, R>(
        slf: &Bound<'py, Self>,
        text: &Bound<'py, PyAny>,
        on_special: OnSpecial<'_, 'py>,
        finish: impl FnOnce(&NativeEngine, &[TokenId]) -> PyResult<R>,
    ) -> PyResult<R> {
        let data = Self::text(slf, text, on_special)?;
        let Self { engine, profile } = slf.get();
        let engine = engine.get();
        engine.ids(&data, *profile, |ids| finish(engine, ids))
    }

    /// The text for the engine: as it is where nothing has to be looked for, else what `slm2.Tokenizer` makes of it, or refuses.
    fn text<'py>(
        tokenizer: &Bound<'py, Self>,
        text: &Bound<'py, PyAny>,
        on_special: OnSpecial<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let plain = text.is_exact_instance_of::<PyString>() || text.is_exact_instance_of::<PyBytes>();
        match on_special {
            OnSpecial::Literal if plain => Ok(text.clone()),
            OnSpecial::Given(given) if plain && is_literal(given) => Ok(text.clone()),
            OnSpecial::Literal => tokenizer.call_method1("_checked", (text, "literal")),
            OnSpecial::Given(given) => tokenizer.call_method1("_checked", (text, given)),
        }
    }
}

fn is_literal(given: Borrowed<'_, '_, PyAny>) -> bool {
    given.cast_exact::<PyString>().is_ok_and(|name| name.to_str().is_ok_and(|name| name == "literal"))
}

#[pymethods]
impl NativeTokenizer {
    #[new]
    fn new(engine: Py<NativeEngine>, profile: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self { engine, profile: arguments::profile(profile)? })
    }

    /// Ids of untrusted text: see `slm2.Tokenizer.encode`.
    #[pyo3(signature = (text, *, on_special=OnSpecial::Literal), text_signature = "($self, text, *, on_special='literal')")]
    fn encode<'py>(
        slf: &Bound<'py, Self>,
        text: &Bound<'py, PyAny>,
        on_special: OnSpecial<'_, 'py>,
    ) -> PyResult<Bound<'py, PyList>> {
        Self::ids(slf, text, on_special, |engine, ids| engine.integers.list(slf.py(), ids))
    }

    /// The ids of `encode` as a one-dimensional read-only array of uint32: see `slm2.Tokenizer.encode_array`.
    #[pyo3(signature = (text, *, on_special=OnSpecial::Literal), text_signature = "($self, text, *, on_special='literal')")]
    fn encode_array<'py>(
        slf: &Bound<'py, Self>,
        text: &Bound<'py, PyAny>,
        on_special: OnSpecial<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::ids(slf, text, on_special, |_, ids| arrays::array(slf.py(), ids))
    }
}
