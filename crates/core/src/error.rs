//! The one error type. Codes, fields and messages: contract/errors.toml.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::error_code::ErrorCode;
use crate::ids::TokenId;
use crate::json::JsonValue;

/// A refusal: nothing was done, or what was done is said in the fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What went wrong; stable, made to be compared.
    pub code: ErrorCode,
    /// What was expected, what came and where, in the order of the table.
    pub fields: Vec<(&'static str, Value)>,
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A count, an offset, an id, ...
    Int(u64),
    /// Text, or bytes in hex.
    Text(String),
    /// Texts of special tokens in a caller's text.
    Findings(Vec<SpecialText>),
    /// A count for each of several names.
    Counts(Vec<(&'static str, u64)>),
}

/// The text of a special token in a text of a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecialText {
    /// The field of the request, where it is one.
    pub source: Option<String>,
    /// Where it begins, in bytes of the text.
    pub offset: usize,
    /// The special token whose text it is.
    pub id: TokenId,
    /// The text.
    pub text: String,
}

impl Error {
    pub(crate) fn new<const N: usize>(code: ErrorCode, fields: [(&'static str, Value); N]) -> Self {
        Self { code, fields: Vec::from(fields) }
    }

    /// An argument that is not what it must be: `invalid_value`.
    #[must_use]
    pub fn invalid_value(field: &str, expected: &str, found: &str) -> Self {
        let fields = [("field", field.into()), ("expected", expected.into()), ("found", found.into())];
        Self::new(ErrorCode::InvalidValue, fields)
    }

    /// A result that does not fit: `output_too_small`.
    #[must_use]
    pub fn output_too_small(needed: usize, found: usize) -> Self {
        Self::new(ErrorCode::OutputTooSmall, [("needed", needed.into()), ("found", found.into())])
    }

    /// A mistake of this library, at a place of its source: `internal_error`.
    #[must_use]
    pub fn internal(place: &str) -> Self {
        Self::new(ErrorCode::InternalError, [("place", place.into())])
    }

    /// The refusal in words, for people.
    #[must_use]
    pub fn message(&self) -> String {
        let mut message = String::new();
        let mut rest = self.code.message();
        while let Some((before, after)) = rest.split_once(['{', '}']) {
            message.push_str(before);
            let brace = rest.get(before.len()..=before.len()).unwrap_or_default();
            if let Some(behind) = after.strip_prefix(brace) {
                message.push_str(brace);
                rest = behind;
                continue;
            }
            let (name, behind) = after.split_once('}').unwrap_or((after, ""));
            if let Some((_, value)) = self.fields.iter().find(|(field, _)| *field == name) {
                message.push_str(&value.to_string());
            }
            rest = behind;
        }
        message.push_str(rest);
        message
    }

    /// The refusal as JSON: `code`, `fields` and `message`.
    #[must_use]
    pub fn to_json(&self) -> String {
        let fields = self.fields.iter().map(|(name, value)| (*name, JsonValue::from(value))).collect::<Vec<_>>();
        let members = [
            ("code", self.code.as_str().into()),
            ("fields", JsonValue::object(fields)),
            ("message", self.message().into()),
        ];
        JsonValue::object(members).to_json()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.code.as_str())?;
        for (name, value) in &self.fields {
            match value {
                Value::Text(text) => write!(formatter, " {name}={text:?}")?,
                other => write!(formatter, " {name}={other}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => write!(formatter, "{number}"),
            Self::Text(text) => formatter.write_str(text),
            Self::Findings(_) | Self::Counts(_) => formatter.write_str(&JsonValue::from(self).to_json()),
        }
    }
}

impl core::error::Error for Error {}

impl SpecialText {
    /// An object of `source` (where it is a field's), `offset`, `id` and `text`.
    #[must_use]
    pub fn to_value(&self) -> JsonValue {
        let source = self.source.iter().map(|source| ("source", source.as_str().into()));
        let rest = [("offset", self.offset.into()), ("id", self.id.get().into()), ("text", self.text.as_str().into())];
        JsonValue::object(source.chain(rest))
    }
}

impl From<&Value> for JsonValue {
    fn from(value: &Value) -> Self {
        match value {
            Value::Int(number) => (*number).into(),
            Value::Text(text) => text.as_str().into(),
            Value::Findings(findings) => Self::Array(findings.iter().map(SpecialText::to_value).collect()),
            Value::Counts(counts) => Self::object(counts.iter().map(|(name, count)| (*name, (*count).into()))),
        }
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Int(number)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Int(number.into())
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        // No target has a usize of more than 64 bits.
        Self::Int(number as u64)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Value {
    #[inline(never)]
    fn from(text: &str) -> Self {
        Self::Text(text.to_string())
    }
}
