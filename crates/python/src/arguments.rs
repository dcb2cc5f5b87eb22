//! Arguments: bytes, names and ids as Python gives them.

use std::ops::Deref;

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyByteArray, PyBytes, PyList, PyMemoryView, PyString};
use slm2_core::{Error, ErrorCode, OnSpecial, Profile, SpecialPolicy, Unit, Value};

use crate::errors;
use crate::integers;

/// Text as Python gives it, without a copy wherever that can be.
pub(crate) enum Text<'a> {
    Bytes(PyBackedBytes),
    /// UTF-8 that the `str` keeps.
    Str(&'a str),
    /// Of a `str` with unpaired surrogates, which has no UTF-8 of its own.
    Repaired(String),
}

impl Deref for Text<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Str(text) => text.as_bytes(),
            Self::Repaired(text) => text.as_bytes(),
        }
    }
}

/// A `str` (decisions D4), or bytes.
pub(crate) fn text<'a>(field: &str, value: &'a Bound<'_, PyAny>) -> PyResult<Text<'a>> {
    let Ok(text) = value.cast::<PyString>() else { return bytes(field, value).map(Text::Bytes) };
    if let Ok(text) = text.to_str() {
        return Ok(Text::Str(text));
    }
    // The method of `str`: what a subclass makes of it is not asked.
    let encode = value.py().get_type::<PyString>().getattr("encode")?;
    let units = encode.call1((text, "utf-16-le", "surrogatepass"))?.cast_into::<PyBytes>()?;
    let units = units
        .as_bytes()
        .chunks_exact(2)
        .map(|unit| unit.iter().rev().fold(0, |unit, &byte| unit << 8 | u16::from(byte)));
    Ok(Text::Repaired(char::decode_utf16(units).map(|scalar| scalar.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()))
}

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

pub(crate) fn unit(value: &Bound<'_, PyAny>) -> PyResult<Unit> {
    named(value, Unit::from_name, "unit", "bytes, code_points or utf16")
}

pub(crate) fn profile(value: &Bound<'_, PyAny>) -> PyResult<Profile> {
    named(value, Profile::from_name, "profile", "contract or publisher")
}

pub(crate) fn special(value: &Bound<'_, PyAny>) -> PyResult<SpecialPolicy> {
    named(value, SpecialPolicy::from_name, "special", "refuse, skip or bytes")
}

pub(crate) fn on_special(value: &Bound<'_, PyAny>) -> PyResult<OnSpecial> {
    named(value, OnSpecial::from_name, "on_special", "literal or reject")
}

fn named<T>(value: &Bound<'_, PyAny>, find: fn(&str) -> Option<T>, field: &str, expected: &str) -> PyResult<T> {
    // A lone surrogate has no UTF-8, and is no name either.
    match value.cast::<PyString>().ok().and_then(|name| find(name.to_str().ok()?)) {
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
        Self::within(Vec::new(), values)
    }

    /// The same in memory that is there, which is empty.
    pub(crate) fn within(memory: Vec<u32>, values: &Bound<'py, PyAny>) -> PyResult<Self> {
        let mut ids = Self { numbers: memory, outliers: Vec::new() };
        // Most ids come in a list, and each is an int: what else stands there is looked at one by one.
        if let Ok(list) = values.cast_exact::<PyList>() {
            integers::add_leading(list, &mut ids.numbers);
            list.iter().skip(ids.numbers.len()).try_for_each(|value| ids.add(&value))?;
            return Ok(ids);
        }
        let Ok(values) = values.try_iter() else {
            return Err(not_ids("ids", values, "a sequence of integers"));
        };
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

    #[inline]
    fn add(&mut self, value: &Bound<'py, PyAny>) -> PyResult<()> {
        let number = match value.extract::<u32>() {
            Ok(number) => number,
            Err(error) => self.unusual(value, error)?,
        };
        self.numbers.push(number);
        Ok(())
    }

    /// What stands for a value that is no u32.
    #[cold]
    fn unusual(&mut self, value: &Bound<'py, PyAny>, error: PyErr) -> PyResult<u32> {
        let place = self.numbers.len();
        if error.is_instance_of::<PyOverflowError>(value.py()) {
            self.outliers.push((place as u64, value.call_method0("__index__")?));
            return Ok(u32::MAX);
        }
        // Another error is one of the caller's own.
        let typed = error.is_instance_of::<PyTypeError>(value.py());
        Err(if typed { not_ids(&format!("ids[{place}]"), value, "an integer") } else { error })
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

fn not_ids(field: &str, value: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    match value.get_type().name() {
        Ok(name) => errors::of_argument("invalid_type", field, expected, name),
        Err(failed) => failed,
    }
}
