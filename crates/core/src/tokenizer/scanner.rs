//! The pre-tokenizer DFA in the form that is run: one load for each byte, and none for the inside of a word.
//!
//! Made once from the checked section. An entry holds where the row of the next state begins and what that state accepts, so that
//! a step needs no multiplication and no second table. The state that ASCII letters lead back to is left by looking for the first
//! byte that is none. A test compares it with the section itself, run as contract/artifact.md says.

use alloc::vec::Vec;

use super::blocks;
use crate::artifact::Pretokenizer;

/// Bits of an entry for the beginning of a row: 65,535 states of 257 symbols are below 2^25, and an accept has 7.
const ROW_BITS: u32 = 25;
const ROW: u32 = (1 << ROW_BITS) - 1;
/// Entries that are made in one call.
const ENTRIES_AT_A_TIME: usize = 1 << 11;
/// No state: rows are below 2^25.
const NO_ROW: usize = usize::MAX;

/// Rows of entries, one entry for each byte class and one for the end of input. Row 0 is that of the dead state.
pub(crate) struct Scanner {
    class_of_byte: [u8; 256],
    table: Vec<u32>,
    start: usize,
    end_of_input: usize,
    /// The state inside a word, where there is one: every ASCII letter leads back to it, and a match ends after each.
    word: usize,
    /// Whether [`blocks`] knows where the pieces of ASCII begin.
    ascii_is_known: bool,
}

/// How far a match has come: kept where a text arrives in parts.
#[derive(Clone, Copy)]
pub(crate) struct Progress {
    row: usize,
    /// Bytes looked at.
    at: usize,
    /// Where the match ends by what was looked at.
    end: usize,
}

impl Progress {
    /// Bytes looked at and not found to be beyond the match.
    pub(crate) const fn looked_at(self) -> usize {
        self.at
    }
}

impl Scanner {
    /// The table of a checked DFA.
    #[inline(never)]
    pub(crate) fn new(dfa: &Pretokenizer<'_>) -> Self {
        let accept = dfa.accept();
        // 16 bits of a state and 9 of a width; the checks keep an accept within 7 bits.
        let width = u32::try_from(dfa.width()).unwrap_or(0);
        let entry = |state: u16| {
            let accept = accept.get(usize::from(state)).copied().unwrap_or(0);
            (u32::from(state) * width) | (u32::from(accept) << ROW_BITS)
        };
        let mut table = Vec::with_capacity(dfa.targets().len());
        let mut entries = dfa.targets().map(entry);
        while entries.len() > 0 {
            append_some(&mut table, &mut entries);
        }
        let mut scanner = Self {
            class_of_byte: dfa.class_of_byte(),
            table,
            start: dfa.width(),
            end_of_input: dfa.width() - 1,
            word: NO_ROW,
            ascii_is_known: blocks::are_known(dfa),
        };
        let inside = scanner.after(scanner.start, b'a');
        let loops = |byte: u8| {
            scanner.after(row_of(inside), byte) == u32::try_from(row_of(inside)).unwrap_or(0) | 1 << ROW_BITS
        };
        if row_of(inside) != 0 && (b'A'..=b'Z').chain(b'a'..=b'z').all(loops) {
            scanner.word = row_of(inside);
        }
        scanner
    }

    /// Where pieces begin in `text`, which begins with one: a bit for each of the next 63 bytes, none where the DFA must say it. All
    /// before the last of them is known.
    #[inline]
    pub(crate) fn beginnings(&self, text: &[u8]) -> u64 {
        // Where few bytes are ASCII, few pieces would be found, and the DFA is faster.
        let ascii = text.first_chunk::<16>().is_some_and(|first| first.is_ascii());
        if self.ascii_is_known && ascii { blocks::beginnings(text) } else { 0 }
    }

    /// Nothing looked at yet.
    pub(crate) const fn begin(&self) -> Progress {
        Progress { row: self.start, at: 0, end: 0 }
    }

    /// Go on through `text`: where the match ends, whatever comes after; `None` where that decides it.
    #[inline]
    pub(crate) fn decide(&self, text: &[u8], progress: &mut Progress) -> Option<usize> {
        // A word begins with a letter, or with one character before it.
        for _ in 0..2 {
            let &byte = text.get(progress.at)?;
            let entry = self.after(progress.row, byte);
            progress.row = row_of(entry);
            if progress.row == 0 {
                return Some(progress.end);
            }
            progress.at += 1;
            if entry > ROW {
                progress.end = progress.at + 1 - (entry >> ROW_BITS) as usize;
            }
            if progress.row == self.word {
                progress.at += slm2_simd::leading_letters(text.get(progress.at..).unwrap_or_default());
                progress.end = progress.at;
                break;
            }
        }
        let (decided, after) = self.run(text, *progress);
        *progress = after;
        decided.then_some(after.end)
    }

    /// Byte after byte. Not inlined, so that the loop has its state in registers.
    #[inline(never)]
    fn run(&self, text: &[u8], Progress { mut row, mut at, mut end }: Progress) -> (bool, Progress) {
        for &byte in text.get(at..).unwrap_or_default() {
            let entry = self.after(row, byte);
            row = row_of(entry);
            if row == 0 {
                return (true, Progress { row, at, end });
            }
            at += 1;
            if entry > ROW {
                end = at + 1 - (entry >> ROW_BITS) as usize;
            }
        }
        (false, Progress { row, at, end })
    }

    /// Where the match ends if the text does.
    pub(crate) fn end_of_input(&self, progress: Progress) -> usize {
        match (self.entry(progress.row, self.end_of_input) >> ROW_BITS) as usize {
            0 => progress.end,
            accept => progress.at + 1 - accept,
        }
    }

    #[inline]
    fn after(&self, row: usize, byte: u8) -> u32 {
        self.entry(row, self.class_of_byte.get(usize::from(byte)).copied().unwrap_or(0).into())
    }

    #[inline]
    fn entry(&self, row: usize, symbol: usize) -> u32 {
        // Rows and symbols come from the table itself.
        self.table.get(row + symbol).copied().unwrap_or(0)
    }
}

/// Append the next entries: of more than a hundred thousand so many that better code of this comes to be used
/// (`artifact/vocabulary.rs`).
#[inline(never)]
fn append_some(table: &mut Vec<u32>, entries: &mut impl Iterator<Item = u32>) {
    table.extend(entries.take(ENTRIES_AT_A_TIME));
}

#[inline]
const fn row_of(entry: u32) -> usize {
    (entry & ROW) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::Artifact;
    use crate::artifact::pretokenizer::{DEAD, START};

    /// As the contract says it.
    fn by_section(dfa: Pretokenizer<'_>, text: &[u8]) -> usize {
        let (mut state, mut end) = (START, 0);
        for (at, &byte) in text.iter().enumerate() {
            state = dfa.after_byte(state, byte);
            if state == DEAD {
                return end;
            }
            if let Some(back) = dfa.match_back(state) {
                end = at + 1 - back;
            }
        }
        dfa.match_back(dfa.after_end(state)).map_or(end, |back| text.len() - back)
    }

    #[test]
    fn it_runs_as_the_section_says() {
        const SEED: u64 = 11;
        let parts: [&[u8]; 16] = [
            b"a",
            b"Z",
            b"abcdefghijklmnopqrstuvw",
            b"word",
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
            let scanner = artifact.scanner();
            let mut state = SEED;
            for _ in 0..100_000 {
                let mut text = Vec::new();
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let mut choices = state >> 12;
                for _ in 0..=(state >> 60) % 12 {
                    text.extend(parts[usize::try_from(choices % 16).expect("small")]);
                    choices /= 16;
                }
                let end = by_section(artifact.pretokenizer(), &text);
                let mut progress = scanner.begin();
                let decided = scanner.decide(&text, &mut progress);
                assert_eq!(decided.unwrap_or_else(|| scanner.end_of_input(progress)), end, "{text:?}");
                assert!(end > 0);
                // The same in parts, cut anywhere.
                let mut progress = scanner.begin();
                let cut = usize::try_from(state >> 40).expect("24 bits") % (text.len() + 1);
                let decided = scanner.decide(&text[..cut], &mut progress);
                let decided = decided.or_else(|| scanner.decide(&text, &mut progress));
                assert_eq!(decided.unwrap_or_else(|| scanner.end_of_input(progress)), end, "{text:?} cut at {cut}");
            }
        }
    }
}
