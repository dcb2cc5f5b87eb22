//! Where the pieces of a text end, and nothing more: what tells words from each other.

use alloc::vec::Vec;

use super::normalize::too_long;
use super::scanner::TooLong;
use super::{Scratch, Tokenizer};
use crate::error::Error;

impl Tokenizer<'_> {
    /// The byte after each piece of a text, taken as it is: it is not normalised first (contract/tokenizer.md, T-4). No id is of two
    /// pieces, so those of an encoded text's tokens are found by its bytes.
    ///
    /// `pretoken_too_long` as in encoding; the limit is the scratch's.
    pub fn piece_ends(&self, text: &[u8], scratch: &Scratch) -> Result<Vec<usize>, Error> {
        let mut ends = Vec::new();
        let mut start = 0;
        while let Some(rest) = text.get(start..).filter(|rest| !rest.is_empty()) {
            let mut progress = self.scanner.begin();
            let decided = self.scanner.decide(rest, &mut progress, scratch.max_pretoken);
            let decided = decided.map_err(|TooLong| too_long(start, scratch.max_pretoken))?;
            let length = decided.unwrap_or_else(|| self.scanner.end_of_input(progress));
            start += length.clamp(1, rest.len());
            ends.push(start);
        }
        Ok(ends)
    }
}
