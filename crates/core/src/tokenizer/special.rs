//! Where the text of special tokens stands in a text.

use alloc::vec::Vec;

use crate::artifact::SpecialTokens;
use crate::ids::TokenId;

/// The text of a special token in a text, at bytes `start..end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it begins.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// The token.
    pub id: TokenId,
}

/// From the left, the longest at each place, not overlapping.
pub(crate) fn find(special: &SpecialTokens, text: &[u8]) -> Vec<Found> {
    let mut found = Vec::new();
    let mut start = 0;
    while let Some(rest) = text.get(start..).filter(|rest| !rest.is_empty()) {
        match special.longest_prefix(rest) {
            Some((length, id)) => {
                found.push(Found { start, end: start + length, id });
                start += length;
            }
            None => start += 1,
        }
    }
    found
}
