//! Python's values as JSON values of the core. Nothing is judged here: what JSON does not have stays, by the name of its type.

use std::borrow::Cow;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use slm2_core::{JsonValue, Key};

const COMMON_KEYS: [&str; 11] = [
    "role",
    "content",
    "reasoning_content",
    "tool_calls",
    "name",
    "arguments",
    "id",
    "text",
    "score",
    "source",
    "value",
];

/// Deeper than the core reads or writes in any field of a request: what lies below is refused there, and a value that holds itself ends here.
const MAX_DEPTH: usize = 160;

/// A value of Python.
pub(crate) fn json(value: &Bound<'_, PyAny>) -> PyResult<JsonValue> {
    convert(value, 0)
}

/// The characters of a string; each unpaired surrogate is U+FFFD (decisions D4).
pub(crate) fn text(value: &Bound<'_, PyString>) -> PyResult<String> {
    if let Ok(text) = value.to_str() {
        return Ok(text.to_owned());
    }
    let class = value.py().get_type::<PyString>();
    let units: Vec<u8> = class.call_method1("encode", (value, "utf-16-le", "surrogatepass"))?.extract()?;
    let pairs = units.chunks_exact(2).map(|pair| pair.iter().rev().fold(0, |unit, byte| unit << 8 | u16::from(*byte)));
    Ok(char::decode_utf16(pairs).map(|scalar| scalar.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

fn convert(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<JsonValue> {
    if let Ok(string) = value.cast::<PyString>() {
        return Ok(JsonValue::Text(text(string)?));
    }
    if value.is_none() {
        return Ok(JsonValue::Null);
    }
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(JsonValue::Bool(truth.is_true()));
    }
    if let Ok(integer) = value.cast::<PyInt>() {
        return digits(integer).map(JsonValue::Int);
    }
    if let Ok(float) = value.cast::<PyFloat>() {
        return Ok(JsonValue::Float(float.value()));
    }
    let inner =
        |element: Bound<'_, PyAny>| if depth < MAX_DEPTH { convert(&element, depth + 1) } else { Ok(JsonValue::Null) };
    if let Ok(list) = value.cast::<PyList>() {
        return collected(list.len(), list.iter().map(inner)).map(JsonValue::Array);
    }
    if let Ok(tuple) = value.cast::<PyTuple>() {
        return collected(tuple.len(), tuple.iter().map(inner)).map(JsonValue::Array);
    }
    if let Ok(dict) = value.cast_exact::<PyDict>() {
        let members = dict.iter().map(|(name, member)| Ok((key(&name)?, inner(member)?)));
        return collected(dict.len(), members).map(JsonValue::Object);
    }
    if let Ok(mapping) = value.cast::<PyMapping>() {
        let members = mapping.items()?;
        let pair = |pair: Bound<'_, PyAny>| {
            let (name, member): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
            Ok((key(&name)?, inner(member)?))
        };
        return collected(members.len(), members.iter().map(pair)).map(JsonValue::Object);
    }
    Ok(JsonValue::Foreign(value.get_type().name()?.to_string()))
}

/// All of them, in memory that is asked for once: a collection of results does not know how many there will be.
fn collected<T>(length: usize, values: impl Iterator<Item = PyResult<T>>) -> PyResult<Vec<T>> {
    let mut all = Vec::with_capacity(length);
    for value in values {
        all.push(value?);
    }
    Ok(all)
}

/// Decimal digits; what Python itself may refuse to print is printed by the library.
fn digits(value: &Bound<'_, PyInt>) -> PyResult<String> {
    if let Ok(number) = value.extract::<i64>() {
        return Ok(number.to_string());
    }
    value.py().import("slm2.reference.json_text")?.call_method1("write_json", (value, ""))?.extract()
}

/// A key; one that is no string goes by how errors show it.
fn key(name: &Bound<'_, PyAny>) -> PyResult<Key> {
    if let Ok(name) = name.cast::<PyString>() {
        // Keys that nearly all messages have need no copy.
        let common = name.to_str().ok().and_then(|name| COMMON_KEYS.iter().find(|key| **key == name));
        let text = common.map_or_else(|| text(name).map(Cow::Owned), |key| Ok(Cow::Borrowed(*key)))?;
        return Ok(Key { text, foreign: None });
    }
    let module = name.py().import("slm2.reference.json_text")?;
    let shown: String = module.call_method1("shown_key", (name,))?.extract()?;
    Ok(Key { text: shown.into(), foreign: Some(module.call_method1("json_type", (name,))?.extract()?) })
}
