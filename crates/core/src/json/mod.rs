//! JSON values, read and written as decisions D7 says (contract/template.md, M-30 to M-38).

mod float;
mod read;
mod write;

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

pub(crate) use float::nearest;
pub(crate) use read::read;
pub(crate) use write::{beginning, quote, shown_float, write, write_inside};

/// Arrays and objects nest at most this deep.
pub(crate) const MAX_DEPTH: usize = 128;

/// A JSON value that loses nothing: integers keep their digits, objects their order.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonValue {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer of any size, in decimal digits with `-` before a negative one, without leading zeros.
    Int(String),
    /// Another number.
    Float(f64),
    /// A string.
    Text(String),
    /// An array.
    Array(Vec<JsonValue>),
    /// An object: its members in their order. A reader of JSON lets no key occur twice; a host may.
    Object(Vec<(Key, JsonValue)>),
    /// A value of the host that JSON does not have: the name of its type.
    Foreign(String),
}

/// The key of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The key; of a value that is no string, how errors show it.
    pub text: Cow<'static, str>,
    /// What JSON calls the type of a key that is no string, which a host may have.
    pub foreign: Option<String>,
}

impl JsonValue {
    /// What JSON calls the type; the host's name for what JSON does not have.
    #[must_use]
    pub fn type_name(&self) -> &str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Int(_) | Self::Float(_) => "number",
            Self::Text(_) => "string",
            Self::Array(_) => "array",
            Self::Object(_) => "object",
            Self::Foreign(name) => name,
        }
    }

    /// An object of members in their order.
    pub fn object<K: Into<Cow<'static, str>>>(members: impl IntoIterator<Item = (K, Self)>) -> Self {
        let mut object = Vec::new();
        members.into_iter().for_each(|(name, value)| member(&mut object, name.into(), value));
        Self::Object(object)
    }

    /// An array of things that are values.
    pub fn array<T: Into<Self>>(elements: impl IntoIterator<Item = T>) -> Self {
        Self::Array(elements.into_iter().map(Into::into).collect())
    }

    /// JSON text as Python's `json.dumps(value, ensure_ascii=False)` writes it; empty for what is no JSON (a value or a key of a
    /// host, a number that is not finite, more than 128 levels), which no result of this crate holds.
    #[must_use]
    pub fn to_json(&self) -> String {
        write(self, &String::new).unwrap_or_default()
    }

    /// The value of one JSON text: `json_invalid`, `json_duplicate_key`, `json_number`.
    pub fn from_json(text: &[u8]) -> Result<Self, crate::Error> {
        read(text)
    }
}

/// Append a member: compiled once, and not for each number of members.
#[inline(never)]
fn member(object: &mut Vec<(Key, JsonValue)>, text: Cow<'static, str>, value: JsonValue) {
    object.push((Key { text, foreign: None }, value));
}

impl From<u64> for JsonValue {
    #[inline(never)]
    fn from(number: u64) -> Self {
        Self::Int(number.to_string())
    }
}

impl From<u32> for JsonValue {
    fn from(number: u32) -> Self {
        u64::from(number).into()
    }
}

impl From<usize> for JsonValue {
    fn from(number: usize) -> Self {
        // No target has a usize of more than 64 bits.
        (number as u64).into()
    }
}

impl From<&str> for JsonValue {
    #[inline(never)]
    fn from(text: &str) -> Self {
        Self::Text(text.to_string())
    }
}

impl From<String> for JsonValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}
