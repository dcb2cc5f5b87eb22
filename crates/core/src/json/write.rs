//! A value to JSON text: Python's `json.dumps(value, ensure_ascii=False)` (contract/template.md, M-37, M-38).

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt::Write;

use super::{JsonValue, Key, MAX_DEPTH};
use crate::error::Error;
use crate::error_code::ErrorCode;

const SHOWN: usize = 64;
/// Longer than any path that somebody wants to read.
const PATH_SHOWN: usize = 256;

/// Where a value stands, for errors: a path is only made where one is needed.
pub(crate) enum Path<'a> {
    Root(&'a dyn Fn() -> String),
    Member(&'a Path<'a>, &'a str),
    Element(&'a Path<'a>, usize),
}

impl Path<'_> {
    fn text(&self) -> String {
        match self {
            Self::Root(name) => name(),
            Self::Member(parent, key) => format!("{}.{}", parent.text(), beginning(key, SHOWN)),
            Self::Element(parent, index) => format!("{}[{index}]", parent.text()),
        }
    }
}

/// The beginning of a text, of at most `limit` scalar values.
pub(crate) fn beginning(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_string(),
    }
}

/// The text of a value that stands at `root`.
pub(crate) fn write(value: &JsonValue, root: &dyn Fn() -> String) -> Result<String, Error> {
    write_inside(value, root, 0)
}

/// The same for a value that will stand inside so many arrays and objects, which count (M-31).
pub(crate) fn write_inside(value: &JsonValue, root: &dyn Fn() -> String, depth: usize) -> Result<String, Error> {
    let mut out = String::new();
    append(value, &Path::Root(root), depth, &mut out)?;
    Ok(out)
}

fn append(value: &JsonValue, path: &Path<'_>, depth: usize, out: &mut String) -> Result<(), Error> {
    match value {
        JsonValue::Null => out.push_str("null"),
        JsonValue::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        JsonValue::Int(digits) => out.push_str(digits),
        JsonValue::Float(value) => {
            if !value.is_finite() {
                return Err(Error::new(ErrorCode::JsonNumber, [("found", shown_float(*value).into())]));
            }
            out.push_str(&python_repr(*value));
        }
        JsonValue::Text(text) => quote(text, out),
        JsonValue::Foreign(_) => {
            let fields = [
                ("field", beginning(&path.text(), PATH_SHOWN).into()),
                ("expected", "a JSON value".to_string().into()),
                ("found", value.type_name().to_string().into()),
            ];
            return Err(Error::new(ErrorCode::InvalidType, fields));
        }
        JsonValue::Array(_) | JsonValue::Object(_) if depth == MAX_DEPTH => {
            let fields = [
                ("field", beginning(&path.text(), PATH_SHOWN).into()),
                ("expected", format!("JSON nested at most {MAX_DEPTH} levels").into()),
                ("found", "more levels".to_string().into()),
            ];
            return Err(Error::new(ErrorCode::InvalidValue, fields));
        }
        JsonValue::Array(elements) => {
            out.push('[');
            for (index, element) in elements.iter().enumerate() {
                out.push_str(if index > 0 { ", " } else { "" });
                append(element, &Path::Element(path, index), depth + 1, out)?;
            }
            out.push(']');
        }
        JsonValue::Object(members) => append_object(members, path, depth + 1, out)?,
    }
    Ok(())
}

fn append_object(members: &[(Key, JsonValue)], path: &Path<'_>, depth: usize, out: &mut String) -> Result<(), Error> {
    out.push('{');
    let mut seen = BTreeSet::new();
    for (index, (key, member)) in members.iter().enumerate() {
        if let Some(kind) = &key.foreign {
            let fields = [
                ("field", format!("a key of {}", beginning(&path.text(), PATH_SHOWN)).into()),
                ("expected", "string".to_string().into()),
                ("found", kind.clone().into()),
            ];
            return Err(Error::new(ErrorCode::InvalidType, fields));
        }
        // A host may have two keys that differ in unpaired surrogates alone.
        if !seen.insert(Cow::Borrowed(&*key.text)) {
            return Err(Error::new(ErrorCode::JsonDuplicateKey, [("key", beginning(&key.text, SHOWN).into())]));
        }
        out.push_str(if index > 0 { ", " } else { "" });
        quote(&key.text, out);
        out.push_str(": ");
        append(member, &Path::Member(path, &key.text), depth, out)?;
    }
    out.push('}');
    Ok(())
}

/// Bytes that are looked at together for one to escape.
const BLOCK: usize = 32;

/// A string with its quotation marks, appended.
pub(crate) fn quote(text: &str, out: &mut String) {
    out.push('"');
    let (mut plain, mut at) = (0, 0);
    for block in text.as_bytes().chunks(BLOCK) {
        // Without an early end the loop runs in wide registers, and most blocks have nothing to escape.
        if block.iter().fold(false, |found, &byte| found | is_escaped(byte)) {
            for (here, &byte) in (at..).zip(block).filter(|(_, byte)| is_escaped(**byte)) {
                out.push_str(text.get(plain..here).unwrap_or_default());
                escape(byte, out);
                plain = here + 1;
            }
        }
        at += block.len();
    }
    out.push_str(text.get(plain..).unwrap_or_default());
    out.push('"');
}

const fn is_escaped(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

fn escape(byte: u8, out: &mut String) {
    match byte {
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        b'\n' => out.push_str("\\n"),
        b'\r' => out.push_str("\\r"),
        b'\t' => out.push_str("\\t"),
        8 => out.push_str("\\b"),
        12 => out.push_str("\\f"),
        control => {
            // Writing to a string does not fail.
            let _ = write!(out, "\\u{control:04x}");
        }
    }
}

/// Python's `repr` of any float, as errors show it.
pub(crate) fn shown_float(value: f64) -> String {
    match value {
        _ if value.is_finite() => python_repr(value),
        _ if value.is_nan() => "nan".to_string(),
        _ if value > 0.0 => "inf".to_string(),
        _ => "-inf".to_string(),
    }
}

/// Python's `repr` of a finite float: the shortest digits, an exponent below 1e-4 and from 1e16 on.
fn python_repr(value: f64) -> String {
    // As many digits as the shortest text has that reads back as the same float, as `d.ddde-7`. Of two such texts equally near
    // Python takes the one with the even last digit, and so does formatting to a number of digits.
    let shortest = format!("{value:e}");
    let count = shortest.split('e').next().unwrap_or_default().bytes().filter(u8::is_ascii_digit).count();
    let scientific = format!("{value:.*e}", count.saturating_sub(1));
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let digits: String = mantissa.chars().filter(|char| *char != '.').collect();
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..16).contains(&exponent) {
        let fraction = digits.get(1..).filter(|rest| !rest.is_empty()).map(|rest| format!(".{rest}"));
        let sign_of_exponent = if exponent < 0 { '-' } else { '+' };
        let first = digits.get(..1).unwrap_or_default();
        return format!(
            "{sign}{first}{}e{sign_of_exponent}{:02}",
            fraction.unwrap_or_default(),
            exponent.unsigned_abs()
        );
    }
    if exponent < 0 {
        let zeros = "0".repeat(exponent.unsigned_abs() as usize - 1);
        return format!("{sign}0.{zeros}{digits}");
    }
    let point = exponent.unsigned_abs() as usize + 1;
    if digits.len() <= point {
        return format!("{sign}{digits}{}.0", "0".repeat(point - digits.len()));
    }
    let (whole, fraction) = digits.split_at_checked(point).unwrap_or((&digits, ""));
    format!("{sign}{whole}.{fraction}")
}

#[cfg(test)]
mod tests {
    use super::python_repr;

    #[test]
    fn floats_are_written_as_python_writes_them() {
        let cases = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1, "0.1"),
            (100_000.0, "100000.0"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (123_456_789.125, "123456789.125"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (1e100, "1e+100"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (9_007_199_254_740_993.0, "9007199254740992.0"),
            (-2_192_364_534_185_285.0 - 0.25, "-2192364534185285.2"),
            (111_659_285_584_252.0 + 0.125, "111659285584252.12"),
        ];
        for (value, text) in cases {
            assert_eq!(python_repr(value), text);
        }
    }
}
