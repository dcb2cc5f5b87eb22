//! The pre-tokenizer DFA in the form that is run: one load for each byte, and none for the inside of a word.
//!
//! Made once from the checked section. An entry holds where the row of the next state begins and what that state accepts, so that
//! a step needs no multiplication and no second table. Where the DFA is the known one, letters are passed over 16 bytes or a character at
//! a time. A test compares it with the section itself, run as contract/artifact.md says.

use alloc::vec::Vec;

use super::kinds::Kinds;
use super::known_dfa::KnownStates;
use crate::artifact::Pretokenizer;
use crate::artifact::pretokenizer::State;

/// Bits of an entry for the beginning of a row: 65,535 states of 257 symbols are below 2^25, and an accept has 7.
const ROW_BITS: u32 = 25;
const ROW: u32 = (1 << ROW_BITS) - 1;
/// Entries that are made in one call.
const ENTRIES_AT_A_TIME: usize = 1 << 11;

/// The shortest text of which a block is looked at, in bytes.
const SHORTEST_BLOCK: usize = 16;

/// Rows of entries, one entry for each byte class and one for the end of input. Row 0 is that of the dead state.
pub(crate) struct Scanner {
    class_of_byte: [u8; 256],
    table: Vec<u32>,
    start: usize,
    end_of_input: usize,
    words: Option<Words>,
}

/// The known DFA: where words begin and what is inside of them.
struct Words {
    /// The state inside a word: every letter leads back to it, all else to none, and a match ends after each.
    inside: usize,
    /// The states after one character that a word can begin with: U+0020, another space, one of the rest.
    blank: usize,
    space: usize,
    one_of_rest: usize,
    kinds: Kinds,
}

/// How far a match has come: kept where a text arrives in parts.
#[derive(Clone, Copy)]
pub(crate) struct Progress {
    row: usize,
    /// Bytes gone through.
    at: usize,
    /// Where the match ends by what was looked at.
    end: usize,
}

/// A piece for which more bytes have to be gone through than the limit allows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

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
        let row = |state: State| state.index() * dfa.width();
        Self {
            class_of_byte: dfa.class_of_byte(),
            table,
            start: dfa.width(),
            end_of_input: dfa.width() - 1,
            words: KnownStates::of(dfa).map(|known| Words {
                inside: row(known.named(b'l')),
                blank: row(known.named(b'b')),
                space: row(known.named(b't')),
                one_of_rest: row(known.named(b'f')),
                kinds: Kinds::new(dfa, &known),
            }),
        }
    }

    /// What is known of characters, where pieces of this text are found a block at a time: few would be found where it is short, or each
    /// character has many bytes.
    #[inline]
    pub(super) fn kinds_for_blocks(&self, text: &[u8]) -> Option<&Kinds> {
        const THREE_BYTES: u8 = 0xE0;
        let words = self.words.as_ref()?;
        let [first, second, ..] = *text.first_chunk::<SHORTEST_BLOCK>()?;
        (first.max(second) < THREE_BYTES).then_some(&words.kinds)
    }

    /// What is known of characters beyond ASCII.
    #[cfg(test)]
    pub(super) fn kinds(&self) -> Option<&Kinds> {
        self.words.as_ref().map(|words| &words.kinds)
    }

    /// As [`Self::decide`] does, by the DFA alone.
    #[cfg(test)]
    pub(super) fn decide_by_bytes(&self, text: &[u8], progress: &mut Progress) -> Option<usize> {
        let (decided, after) = self.run(text, *progress);
        *progress = after;
        decided.then_some(after.end)
    }

    /// Nothing looked at yet.
    pub(crate) const fn begin(&self) -> Progress {
        Progress { row: self.start, at: 0, end: 0 }
    }

    /// Go on through `text`: where the match ends, whatever comes after; `None` where that decides it. `TooLong` where more than `limit` bytes
    /// have to be gone through (contract/tokenizer.md, T-13).
    #[inline]
    pub(crate) fn decide(&self, text: &[u8], progress: &mut Progress, limit: usize) -> Result<Option<usize>, TooLong> {
        if let Some(words) = self.words.as_ref().filter(|_| progress.at == 0) {
            self.begin_word(words, text, progress);
            // How far the DFA goes into the character that ends the word, up to its last byte, matters near the limit alone.
            if progress.row == words.inside && progress.at + 2 <= limit && words.end_after(text, progress) {
                return Ok(Some(progress.end));
            }
        }
        let decided;
        (decided, *progress) = self.run(text, *progress);
        if progress.at > limit { Err(TooLong) } else { Ok(decided.then_some(progress.end)) }
    }

    /// Go to the inside of a word, where `text` begins with one: a letter, or one character and a letter after it. Else not far.
    #[inline]
    fn begin_word(&self, words: &Words, text: &[u8], progress: &mut Progress) {
        if words.enter(text, progress) {
            return;
        }
        let Some(&byte) = text.first() else { return };
        if byte.is_ascii() {
            // Each of them ends a match where a piece begins.
            *progress = Progress { row: row_of(self.after(progress.row, byte)), at: 1, end: 1 };
        } else {
            let length = words.kinds.first_of_rest(text);
            if length > 0 {
                *progress = Progress { row: words.one_of_rest, at: length, end: length };
            }
        }
        if progress.row == words.blank || progress.row == words.one_of_rest || progress.row == words.space {
            words.enter(text, progress);
        }
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

impl Words {
    /// Go over the letters that come next, which are inside a word then; whether there were some.
    #[inline]
    fn enter(&self, text: &[u8], progress: &mut Progress) -> bool {
        let end = self.end_of_letters(text, progress.at);
        let some = end > progress.at;
        if some {
            *progress = Progress { row: self.inside, at: end, end };
        }
        some
    }

    #[inline]
    fn end_of_letters(&self, text: &[u8], mut at: usize) -> usize {
        while let Some(&byte) = text.get(at) {
            let end = if byte.is_ascii() {
                at + slm2_simd::leading_letters(text.get(at..).unwrap_or_default())
            } else {
                self.kinds.end_of_letters(text, at)
            };
            if end == at {
                break;
            }
            at = end;
        }
        at
    }

    /// Whether what comes after the letters is known to be none.
    #[inline]
    fn end_after(&self, text: &[u8], progress: &Progress) -> bool {
        let rest = text.get(progress.at..).unwrap_or_default();
        rest.first().is_some_and(|byte| byte.is_ascii() || self.kinds.first_of_rest(rest) > 0)
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
                let decided = scanner.decide(&text, &mut progress, usize::MAX).expect("no limit");
                assert_eq!(decided.unwrap_or_else(|| scanner.end_of_input(progress)), end, "{text:?}");
                assert!(end > 0);
                // The same in parts, cut anywhere.
                let mut progress = scanner.begin();
                let cut = usize::try_from(state >> 40).expect("24 bits") % (text.len() + 1);
                let decided = scanner.decide(&text[..cut], &mut progress, usize::MAX).expect("no limit");
                let decided = decided.or_else(|| scanner.decide(&text, &mut progress, usize::MAX).expect("no limit"));
                assert_eq!(decided.unwrap_or_else(|| scanner.end_of_input(progress)), end, "{text:?} cut at {cut}");
            }
        }
    }

    /// Bytes of the character that ends a word are gone through as the DFA goes through them, and so count against the limit.
    #[test]
    fn the_limit_is_that_of_the_dfa_alone() {
        let data = std::fs::read("../../src/slm2/data/qwen3-0.6b.slm2").expect("it is there");
        let artifact = Artifact::from_bytes(data).expect("it opens");
        let scanner = artifact.scanner();
        for letter in ["a", "é", "中"] {
            for after in ["", " ", ".", "’s", "，", "é", "¡", "中", "😀", "\u{3000}", "\u{663}", "\u{E2}", "７"]
            {
                for count in 1..20 {
                    let text = letter.repeat(count) + after;
                    let mut alone = scanner.begin();
                    let by_bytes = scanner.decide_by_bytes(text.as_bytes(), &mut alone);
                    for limit in 0..64 {
                        let expected = if alone.at > limit { Err(TooLong) } else { Ok(by_bytes) };
                        let found = scanner.decide(text.as_bytes(), &mut scanner.begin(), limit);
                        assert_eq!(found, expected, "{text} {limit}");
                    }
                }
            }
        }
    }
}
