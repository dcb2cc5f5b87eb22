//! What results are made of.

use std::fmt::Write;

use slm2_core::{JsonValue, TokenId};

/// An array.
pub(crate) fn list(values: impl IntoIterator<Item = JsonValue>) -> JsonValue {
    JsonValue::Array(values.into_iter().collect())
}

/// An object, its keys in this order.
pub(crate) fn object(members: impl IntoIterator<Item = (&'static str, JsonValue)>) -> JsonValue {
    JsonValue::object(members)
}

/// Ids.
pub(crate) fn ids(ids: &[TokenId]) -> JsonValue {
    JsonValue::array(ids.iter().map(|id| id.get()))
}

/// A text that an error, an engine or a host made, which is JSON.
pub(crate) fn made(json: &str) -> JsonValue {
    JsonValue::from_json(json.as_bytes()).unwrap_or(JsonValue::Null)
}

/// Bytes in a result: `text` where they are well-formed UTF-8, else `base64`.
pub(crate) fn bytes(bytes: &[u8]) -> JsonValue {
    match std::str::from_utf8(bytes) {
        Ok(well_formed) => object([("text", well_formed.into())]),
        Err(_) => object([("base64", base64(bytes).into())]),
    }
}

/// A float64 as its bits.
pub(crate) fn bits(value: f64) -> JsonValue {
    format!("{:016x}", value.to_bits()).into()
}

/// Bytes as hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        // Writing to a String does not fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut digits = String::new();
    for group in bytes.chunks(3) {
        let number = (0..3).fold(0_u32, |number, place| number << 8 | u32::from(*group.get(place).unwrap_or(&0)));
        for place in 0..4 {
            let digit = DIGITS.get((number >> (18 - 6 * place)) as usize & 63).copied().unwrap_or(b'=');
            digits.push(if place > group.len() { '=' } else { char::from(digit) });
        }
    }
    digits
}
