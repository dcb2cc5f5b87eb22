//! Arguments: bytes, names and ids as Python gives them.

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView};
use slm2_core::{Error, ErrorCode, Profile, SpecialPolicy, Value};

use crate::errors;

/// Bytes without a copy, those of a `bytearray` or a `memoryview` copied, so that nothing can change them.
pub(crate) fn bytes(field: &str, value: &Bound<'_, PyAny>) -> PyResult<PyBackedBytes> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(bytes.clone().into());
    }
    if let Ok(array) = value.cast::<PyByteArray>() {
        return Ok(array.clone().into());
    }
    if value.cast::<PyMemoryView>().is_ok() {
        return Ok(value.call_method0("tobytes")?.cast_into::<PyBytes>()?.into());
    }
    Err(errors::of_argument("invalid_type", field, "bytes, bytearray or memoryview", value.get_type().name()?))
}

pub(crate) fn profile(value: &Bound<'_, PyAny>) -> PyResult<Profile> {
    named(value, Profile::from_name, "profile", "contract or publisher")
}

pub(crate) fn special(value: &Bound<'_, PyAny>) -> PyResult<SpecialPolicy> {
    named(value, SpecialPolicy::from_name, "special", "refuse, skip or bytes")
}

fn named<T>(value: &Bound<'_, PyAny>, find: fn(&str) -> Option<T>, field: &str, expected: &str) -> PyResult<T> {
    // A lone surrogate has no UTF-8, and is no name either.
    match value.extract::<String>().ok().and_then(|name| find(&name)) {
        Some(named) => Ok(named),
        None => Err(errors::of_argument("invalid_value", field, expected, value.repr()?)),
    }
}

/// Ids as they were given. Those that are no u32 stand as `u32::MAX`, which is no id, so that the core refuses them at their
/// place; the error then gets the number back.
pub(crate) struct Ids<'py> {
    pub(crate) numbers: Vec<u32>,
    outliers: Vec<(u64, Bound<'py, PyAny>)>,
}

impl<'py> Ids<'py> {
    pub(crate) fn of_iterable(values: &Bound<'py, PyAny>) -> PyResult<Self> {
        let mut ids = Self { numbers: Vec::new(), outliers: Vec::new() };
        let Ok(values) = values.try_iter() else { return Err(not_ids(values, "a sequence of integers")) };
        for value in values {
            ids.add(&value?)?;
        }
        Ok(ids)
    }

    pub(crate) fn of_one(value: &Bound<'py, PyAny>) -> PyResult<Self> {
        let mut ids = Self { numbers: Vec::new(), outliers: Vec::new() };
        ids.add(value)?;
        Ok(ids)
    }

    fn add(&mut self, value: &Bound<'py, PyAny>) -> PyResult<()> {
        let number = match value.extract::<u32>() {
            Ok(number) => number,
            Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => {
                self.outliers.push((self.numbers.len() as u64, value.call_method0("__index__")?));
                u32::MAX
            }
            Err(_) => return Err(not_ids(value, "integers")),
        };
        self.numbers.push(number);
        Ok(())
    }

    /// The exception of an error about these ids, the first of which is at `first` of its sequence.
    pub(crate) fn exception(&self, py: Python<'py>, error: &Error, first: u64) -> PyErr {
        let at = error.fields.iter().find_map(|(name, value)| match value {
            Value::Int(position) if *name == "position" => position.checked_sub(first),
            _ => None,
        });
        let outlier = self.outliers.iter().find(|(place, _)| Some(*place) == at);
        let id = outlier.filter(|_| error.code == ErrorCode::TokenIdOutOfRange).map(|(_, number)| ("id", number));
        errors::of_core(py, error, id)
    }
}

fn not_ids(value: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    match value.get_type().name() {
        Ok(name) => errors::of_argument("invalid_type", "ids", expected, name),
        Err(failed) => failed,
    }
}
