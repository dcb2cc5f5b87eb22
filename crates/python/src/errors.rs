//! The core's errors as `slm2.errors.Slm2Error`.

use std::io;
use std::path::Path;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use slm2_core::{Error, SpecialText, Value};

/// The exception of an error of the core; `instead` is a field that has another value.
pub(crate) fn of_core(py: Python<'_>, error: &Error, instead: Option<(&str, &Bound<'_, PyAny>)>) -> PyErr {
    let fields = PyDict::new(py);
    let filled = error.fields.iter().try_for_each(|(name, value)| match value {
        Value::Int(number) => fields.set_item(name, number),
        Value::Text(text) => fields.set_item(name, text),
        Value::Findings(findings) => findings_list(py, findings).and_then(|list| fields.set_item(name, list)),
        Value::Counts(counts) => counts_object(py, counts).and_then(|object| fields.set_item(name, object)),
    });
    let filled = filled.and_then(|()| instead.map_or(Ok(()), |(name, value)| fields.set_item(name, value)));
    filled.map_or_else(|failed| failed, |()| exception(error.code.as_str(), &fields))
}

/// Objects as `dataclasses.asdict` makes them of findings.
fn findings_list<'py>(py: Python<'py>, findings: &[SpecialText]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for finding in findings {
        let object = PyDict::new(py);
        if let Some(source) = &finding.source {
            object.set_item("source", source)?;
        }
        object.set_item("offset", finding.offset)?;
        object.set_item("id", finding.id.get())?;
        object.set_item("text", &finding.text)?;
        list.append(object)?;
    }
    Ok(list)
}

fn counts_object<'py>(py: Python<'py>, counts: &[(&'static str, u64)]) -> PyResult<Bound<'py, PyDict>> {
    let object = PyDict::new(py);
    counts.iter().try_for_each(|(name, count)| object.set_item(name, count))?;
    Ok(object)
}

/// `Slm2Error(code, **fields)`.
pub(crate) fn exception(code: &str, fields: &Bound<'_, PyDict>) -> PyErr {
    let py = fields.py();
    let class = py.import("slm2.errors").and_then(|module| module.getattr("Slm2Error"));
    match class.and_then(|class| class.call((code,), Some(fields))) {
        Ok(exception) => PyErr::from_value(exception),
        Err(failed) => failed,
    }
}

/// The exception for an argument that is not what it must be: `invalid_type` or `invalid_value`.
pub(crate) fn of_argument(code: &str, field: &str, expected: &str, found: Bound<'_, PyString>) -> PyErr {
    let fields = PyDict::new(found.py());
    let filled = fields
        .set_item("field", field)
        .and_then(|()| fields.set_item("expected", expected))
        .and_then(|()| fields.set_item("found", found));
    filled.map_or_else(|failed| failed, |()| exception(code, &fields))
}

/// The exception that Python raises where a file cannot be opened or read.
pub(crate) fn of_system(path: &Path, error: &io::Error) -> PyErr {
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        return PyValueError::new_err("embedded null byte");
    }
    let text = error.to_string();
    let Some(number) = error.raw_os_error() else { return PyOSError::new_err(text) };
    let reason = text.strip_suffix(&format!(" (os error {number})")).unwrap_or(&text).to_owned();
    PyOSError::new_err((number, reason))
}
