//! What an id stands for, and what is done with structural ones.

use alloc::vec::Vec;

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

/// Bytes that are gathered before they are appended to the output.
const ROOM: usize = 2048;
/// Bytes of a short token that are written at once.
const SHORT: usize = 16;

/// The bytes of short tokens, one after the other: sixteen are written of each, which is one instruction, and the next goes over those
/// that are too many.
pub(crate) struct Gathered {
    bytes: [u8; ROOM],
    used: usize,
}

impl Default for Gathered {
    fn default() -> Self {
        Self { bytes: [0; ROOM], used: 0 }
    }
}

impl Gathered {
    /// Take the bytes of ids as long as these are short tokens and there is room; the first id that was not taken.
    #[inline]
    pub(crate) fn take_while<'a>(
        &mut self,
        ids: &mut impl Iterator<Item = (u64, u32)>,
        token: impl Fn(u32) -> Option<(&'a [u8; SHORT], usize)>,
    ) -> Option<(u64, u32)> {
        // In a variable of its own it stays in a register.
        let mut used = self.used;
        let stopped = ids.find(|&(_, id)| {
            let place = self.bytes.get_mut(used..used + SHORT);
            let Some(((sixteen, length), place)) = token(id).zip(place) else { return true };
            place.copy_from_slice(sixteen);
            used += length;
            false
        });
        self.used = used;
        stopped
    }

    /// Append what was gathered to the output.
    pub(crate) fn flush(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.bytes.get(..self.used).unwrap_or_default());
        self.used = 0;
    }
}
