//! The pre-tokenizer DFA in the form that is run: one load for each byte.
//!
//! Made once from the checked section. An entry holds where the row of the next state begins and what that state accepts, so that
//! a step needs no multiplication and no second table. `pretoken::match_end` runs the section itself; a test compares the two.

use alloc::vec::Vec;

use crate::artifact::Pretokenizer;

/// Bits of an entry for the beginning of a row: 65,535 states of 257 symbols are below 2^25.
const ROW_BITS: u32 = 25;
const ROW: u32 = (1 << ROW_BITS) - 1;
/// The greatest accept that fits beside it.
const MAX_ACCEPT: u8 = 127;

/// Rows of entries, one entry for each byte class and one for the end of input. Row 0 is that of the dead state.
pub(crate) struct Scanner {
    class_of_byte: [u8; 256],
    table: Vec<u32>,
    start: usize,
    end_of_input: usize,
}

impl Scanner {
    /// The table of a checked DFA; `None` where a match ends too many bytes back for an entry, which no pattern needs.
    pub(crate) fn new(dfa: &Pretokenizer<'_>) -> Option<Self> {
        let width = u32::try_from(dfa.width()).ok()?;
        let accept = dfa.accept();
        if accept.iter().any(|&accept| accept > MAX_ACCEPT) {
            return None;
        }
        let entry = |state: u16| {
            let accept = accept.get(usize::from(state)).copied().unwrap_or(0);
            (u32::from(state) * width) | (u32::from(accept) << ROW_BITS)
        };
        Some(Self {
            class_of_byte: dfa.class_of_byte(),
            table: dfa.targets().map(entry).collect(),
            start: dfa.width(),
            end_of_input: dfa.width() - 1,
        })
    }

    /// Where the match at the beginning of `text` ends; at least 1 for a text that is not empty.
    pub(crate) fn match_end(&self, text: &[u8]) -> usize {
        let mut row = self.start;
        let mut end = 0;
        for (at, &byte) in text.iter().enumerate() {
            let class = self.class_of_byte.get(usize::from(byte)).copied().unwrap_or(0);
            let entry = self.entry(row, class.into());
            row = (entry & ROW) as usize;
            if entry > ROW {
                end = at + 2 - (entry >> ROW_BITS) as usize;
            }
            if row == 0 {
                return end;
            }
        }
        match (self.entry(row, self.end_of_input) >> ROW_BITS) as usize {
            0 => end,
            accept => text.len() + 1 - accept,
        }
    }

    fn entry(&self, row: usize, symbol: usize) -> u32 {
        // Rows and symbols come from the table itself.
        self.table.get(row + symbol).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::Artifact;
    use crate::tokenizer::pretoken;

    #[test]
    fn it_runs_as_the_section_says() {
        const SEED: u64 = 11;
        let parts: [&[u8]; 14] = [
            b"a",
            b"Z",
            b" ",
            b"\n",
            b"\r",
            b"'",
            b"s",
            b"7",
            b".",
            b"\xc3",
            b"\xa9",
            b"\xe4\xbd\xa0",
            b"\xe2\x80",
            b"\xff",
        ];
        for file in ["../../src/slm2/data/qwen3-0.6b.slm2", "../../tests/data/small-v1.slm2"] {
            let artifact = Artifact::from_bytes(std::fs::read(file).expect("it is there")).expect("it opens");
            let scanner = artifact.scanner().expect("no match ends far back");
            let mut state = SEED;
            for _ in 0..100_000 {
                let mut text = Vec::new();
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let mut choices = state >> 16;
                for _ in 0..=(state >> 60) % 12 {
                    text.extend(parts[usize::try_from(choices % 14).expect("small")]);
                    choices /= 14;
                }
                let end = pretoken::match_end(artifact.pretokenizer(), &text);
                assert_eq!(scanner.match_end(&text), end, "{text:?}");
                assert!(end > 0);
            }
        }
    }
}
