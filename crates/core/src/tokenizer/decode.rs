//! What an id stands for, and what is done with structural ones.

use crate::error::Error;
use crate::error_code::ErrorCode;

/// What is done with structural ids, those of special tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpecialPolicy {
    /// They are refused (`structural_id`).
    Refuse,
    /// They stand for nothing.
    Skip,
    /// They stand for their text.
    Bytes,
}

impl SpecialPolicy {
    /// The policy of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "refuse" => Some(Self::Refuse),
            "skip" => Some(Self::Skip),
            "bytes" => Some(Self::Bytes),
            _ => None,
        }
    }
}

/// What an id stands for.
#[derive(Clone, Copy)]
pub(crate) enum Meaning<'a> {
    /// The bytes of a plain token.
    Plain(&'a [u8]),
    /// The text of a special token.
    Structural(&'a [u8]),
}

impl<'a> Meaning<'a> {
    /// The bytes that `id`, at `position` of a sequence, decodes to.
    pub(crate) fn bytes(self, position: u64, id: u32, special: SpecialPolicy) -> Result<&'a [u8], Error> {
        match (self, special) {
            (Self::Plain(bytes), _) | (Self::Structural(bytes), SpecialPolicy::Bytes) => Ok(bytes),
            (Self::Structural(_), SpecialPolicy::Skip) => Ok(&[]),
            (Self::Structural(_), SpecialPolicy::Refuse) => {
                let fields = [("position", position.into()), ("id", id.into())];
                Err(Error::new(ErrorCode::StructuralId, fields))
            }
        }
    }
}

pub(crate) fn out_of_range(position: u64, id: u32, limit: u32) -> Error {
    let fields = [("position", position.into()), ("id", id.into()), ("limit", limit.into())];
    Error::new(ErrorCode::TokenIdOutOfRange, fields)
}
