//! Section 0x60: what the compiler proved of the entries. Whether merging gives one decides what a piece is (contract/tokenizer.md, T-6).

use super::layout::{part, size};
use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::ids::TokenId;

/// The section, opened; without any fact where an artifact has none.
#[derive(Clone, Copy)]
pub(crate) struct Facts<'a> {
    merged: &'a [u8],
}

impl<'a> Facts<'a> {
    /// The section of a checked artifact.
    pub(crate) fn over(section: &'a [u8]) -> Self {
        Self { merged: part(section, 0, size(section) / 2) }
    }

    /// Whether merging the bytes of a token gives that token.
    pub(crate) fn merged(self, id: TokenId) -> bool {
        self.merged.get(id.index() / 8).is_some_and(|bits| bits >> (id.index() % 8) & 1 == 1)
    }
}

/// The first half of step 9 of the order of checks.
pub(crate) fn check(section: &[u8], vocabulary_size: u32) -> Result<(), Error> {
    let half = u64::from(vocabulary_size.div_ceil(8));
    let used_bits = vocabulary_size % 8;
    let unused = if used_bits == 0 { 0 } else { u8::MAX << used_bits };
    let halves = [part(section, 0, half), part(section, half, 2 * half)];
    let overrun = halves.iter().any(|bits| bits.last().is_some_and(|last| last & unused != 0));
    if size(section) == 2 * half && !overrun {
        return Ok(());
    }
    let fields = [("found", section.len().into()), ("expected", (2 * half).into())];
    Err(Error::new(ErrorCode::ArtifactFacts, fields))
}
