//! What the known DFA does with characters of two and three bytes: letters and the rest go the way of those of ASCII, in every state.
//!
//! Found out from the sealed DFA when an artifact is opened, never from a table of our own, so that it cannot say anything else. What goes
//! neither way (numbers, spaces, characters of four bytes, bytes that are no text) is left to the DFA.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::known_dfa::{Column, KnownStates};
use crate::artifact::Pretokenizer;
use crate::character_set::{Character, CharacterSet, TAILS};

/// The kinds of characters of two and three bytes.
pub(crate) struct Kinds {
    /// As letters of ASCII that no contraction begins with.
    letters: Box<CharacterSet>,
    /// As the rest of ASCII.
    rest: Box<CharacterSet>,
}

impl Kinds {
    /// The kinds that characters have for a DFA that is known on ASCII.
    pub(super) fn new(dfa: &Pretokenizer<'_>, known: &KnownStates) -> Self {
        let ways = Ways { dfa, letter: known.after_letter(), rest: known.after_rest() };
        let mut kinds = Self { letters: CharacterSet::filled(false), rest: CharacterSet::filled(false) };
        for (lead, (letters, rest)) in (0xC0..).zip(kinds.letters.two.iter_mut().zip(&mut kinds.rest.two)).skip(2) {
            (*letters, *rest) = ways.of_last_byte(ways.after(known.all, lead));
        }
        // Many beginnings are alike: what comes after them is looked at once.
        let mut alike: Vec<(Option<Column>, (u64, u64))> = Vec::new();
        let of_lead = kinds.letters.three.chunks_mut(TAILS).zip(kinds.rest.three.chunks_mut(TAILS));
        for (lead, (letters, rest)) in (0xE0..).zip(of_lead) {
            let first = ways.after(known.all, lead);
            for (second, (letters, rest)) in (0x80..).zip(letters.iter_mut().zip(rest)) {
                // What is shorter in two bytes is no character in three.
                if (lead, second) >= (0xE0, 0xA0) {
                    let column = first.and_then(|column| ways.after(column, second));
                    let known = alike.iter().find(|(known, _)| *known == column).map(|&(_, found)| found);
                    let found = known.unwrap_or_else(|| ways.of_last_byte(column));
                    if known.is_none() {
                        alike.push((column, found));
                    }
                    (*letters, *rest) = found;
                }
            }
        }
        kinds
    }

    /// How many bytes the character beyond ASCII at the beginning of four bytes has, and whether it is a letter; else it is of the rest. 0
    /// where it is neither.
    #[inline]
    pub(super) fn of(&self, four: [u8; 4]) -> (usize, bool) {
        let Some(character) = Character::of(four) else { return (0, false) };
        let is_letter = self.letters.has(character);
        if is_letter || self.rest.has(character) { (character.length, is_letter) } else { (0, false) }
    }

    /// Where letters beyond ASCII end that begin at a place of a text.
    #[inline]
    pub(super) fn end_of_letters(&self, text: &[u8], mut at: usize) -> usize {
        let is_letter = |character: &Character| self.letters.has(*character);
        while let Some(letter) = Character::first(text.get(at..).unwrap_or_default()).filter(is_letter) {
            at += letter.length;
        }
        at
    }

    /// How many bytes the character beyond ASCII at the beginning of a text has, where it is of the rest; else 0.
    #[inline]
    pub(super) fn first_of_rest(&self, text: &[u8]) -> usize {
        Character::first(text).filter(|&character| self.rest.has(character)).map_or(0, |character| character.length)
    }
}

/// Where the states of a DFA are led.
struct Ways<'d> {
    dfa: &'d Pretokenizer<'d>,
    letter: Column,
    rest: Column,
}

impl Ways<'_> {
    /// All states after a byte that ends no match: nothing else begins a character.
    fn after(&self, column: Column, byte: u8) -> Option<Column> {
        let after = column.map(|state| self.dfa.after_byte(state, byte));
        after.iter().all(|&state| self.dfa.match_back(state).is_none()).then_some(after)
    }

    /// Letters and the rest among the characters that begin so, by their last byte.
    fn of_last_byte(&self, column: Option<Column>) -> (u64, u64) {
        let (mut letters, mut rest) = (0, 0);
        for (bit, tail) in (0x80..=0xBF).enumerate() {
            let after = column.map(|column| column.map(|state| self.dfa.after_byte(state, tail)));
            letters |= u64::from(after == Some(self.letter)) << bit;
            rest |= u64::from(after == Some(self.rest)) << bit;
        }
        (letters, rest)
    }
}

#[cfg(test)]
mod tests {
    use crate::artifact::Artifact;
    use std::string::String;
    use std::vec::Vec;

    /// Where the pieces of a text end, by the DFA a byte at a time.
    fn ends(artifact: &Artifact<Vec<u8>>, text: &str) -> Vec<usize> {
        let scanner = artifact.scanner();
        let (mut at, mut ends) = (0, Vec::new());
        while at < text.len() {
            let mut progress = scanner.begin();
            let decided = scanner.decide_by_bytes(&text.as_bytes()[at..], &mut progress);
            at += decided.unwrap_or_else(|| scanner.end_of_input(progress));
            ends.push(at);
        }
        ends
    }

    #[test]
    fn each_character_goes_the_way_of_one_of_ascii() {
        let data = std::fs::read("../../src/slm2/data/qwen3-0.6b.slm2").expect("the embedded artifact is there");
        let artifact = Artifact::from_bytes(data).expect("it opens");
        let kinds = artifact.scanner().kinds().expect("the DFA is the known one");
        let around = [
            ("", ""),
            ("a", "b"),
            ("!", "!"),
            (" ", "a"),
            ("'", "n"),
            ("7", "7"),
            ("\n", "\n"),
            ("!!", " x"),
            ("\t", "."),
        ];
        let mut count = [0; 3];
        for character in (0x80..=0xFFFF).filter_map(char::from_u32) {
            let mut four = [0; 4];
            let length = character.encode_utf8(&mut four).len();
            let (found, is_letter) = kinds.of(four);
            count[if found == 0 { 2 } else { usize::from(is_letter) }] += 1;
            assert!(found == 0 || found == length, "{character:?}");
            let stand_in = if is_letter { 'x' } else { '#' };
            for (before, after) in around {
                let text = |character: char| String::from_iter([before, character.encode_utf8(&mut [0; 4]), after]);
                let longer = |end: &usize| if *end > before.len() { end + length - 1 } else { *end };
                let expected: Vec<usize> = ends(&artifact, &text(stand_in)).iter().map(longer).collect();
                assert!(
                    found == 0 || ends(&artifact, &text(character)) == expected,
                    "{character:?} between {before:?} and {after:?}"
                );
            }
        }
        // Letters of two and three bytes are 48,000 and more; what is neither are numbers, spaces and their kin.
        assert!(count[0] > 10_000 && count[1] > 45_000 && count[2] < 2_000, "{count:?}");
    }

    #[test]
    fn bytes_that_are_no_character_have_no_kind() {
        let data = std::fs::read("../../src/slm2/data/qwen3-0.6b.slm2").expect("the embedded artifact is there");
        let artifact = Artifact::from_bytes(data).expect("it opens");
        let kinds = artifact.scanner().kinds().expect("the DFA is the known one");
        for first in 0x80..=0xFF {
            for second in 0..=0xFF {
                for third in [0, b'a', 0x7F, 0x80, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF] {
                    let (length, _) = kinds.of([first, second, third, 0]);
                    let text = [first, second, third];
                    assert!(length == 0 || core::str::from_utf8(&text[..length]).is_ok(), "{text:?}");
                }
            }
        }
    }
}
