//! The one error type. Codes and fields: contract/errors.toml; messages are the hosts' business.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::error_code::ErrorCode;

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
}

impl Error {
    pub(crate) fn new<const N: usize>(code: ErrorCode, fields: [(&'static str, Value); N]) -> Self {
        Self { code, fields: Vec::from(fields) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.code.as_str())?;
        for (name, value) in &self.fields {
            match value {
                Value::Int(number) => write!(formatter, " {name}={number}")?,
                Value::Text(text) => write!(formatter, " {name}={text:?}")?,
            }
        }
        Ok(())
    }
}

impl core::error::Error for Error {}

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
