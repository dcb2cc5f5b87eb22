//! Where pieces begin, 64 bytes at a time, for the one pre-tokenizer that this is known of.
//!
//! Qwen's pattern decides from a character, the two before it and the one after it whether a piece begins there, but in a few places,
//! which are left to the DFA. So the beginnings of a block are a few operations on words that have a bit for each byte. Tests compare them
//! with the DFA on all short texts.

use slm2_simd::{BLOCK_BYTES, Classes, classes};

use super::kinds::Kinds;
use super::known_dfa::begins_contraction;

/// 64 bytes of a text, and so many after them that 16 can be read from each.
pub(super) type Block = [u8; BLOCK_BYTES + 16];

/// What stands after a text in its last block: bytes that say that what comes is not known.
pub(super) const NOTHING: Block = [u8::MAX; BLOCK_BYTES + 16];

/// The first block of a text; of a shorter one it is made in `place`, which holds nothing.
#[inline]
pub(super) fn first_block<'t>(text: &'t [u8], place: &'t mut Block) -> &'t Block {
    if let Some(block) = text.first_chunk() {
        return block;
    }
    if let Some(beginning) = place.get_mut(..text.len()) {
        beginning.copy_from_slice(text);
    }
    place
}

/// Where pieces begin in a block, which begins with one: a bit for each of the next 63 bytes, none where that is not known here. The piece
/// before each of them is known as well.
#[inline]
pub(super) fn beginnings(block: &Block, kinds: &Kinds) -> u64 {
    let Some(bytes) = block.first_chunk() else { return 0 };
    let Classes { mut letters, digits, blanks, newlines, tabs, apostrophes, mut beyond } = classes(bytes);
    // The bytes of characters of the rest, but their first.
    let mut tails = 0;
    while beyond != 0 {
        let at = beyond.trailing_zeros() as usize;
        let Some(four) = block.get(at..).and_then(<[u8]>::first_chunk) else { break };
        let (length, is_letter) = kinds.of(*four);
        if length == 0 || at + length > BLOCK_BYTES {
            break;
        }
        let character = ((1_u64 << length) - 1) << at;
        letters |= if is_letter { character } else { 0 };
        tails |= if is_letter { 0 } else { character & (character << 1) };
        beyond &= !character;
    }
    let spaces = blanks | tabs;
    let white = spaces | newlines;
    let rest = !(letters | digits | white | beyond);
    // A bit of `x << 1` says that the byte before is x.
    let rest_begins = rest & !(rest << 1 | blanks << 1);
    // Characters have up to three bytes here.
    let rest_goes_on = rest_begins | rest_begins << 1 & tails;
    let first_of_rest = rest_goes_on | rest_goes_on << 1 & tails;
    // Letters follow in the same piece a space, and one of the rest that begins a piece.
    let letters_begin = letters & !(letters << 1 | spaces << 1 | first_of_rest << 1);
    // Line ends follow the rest in the same piece.
    let newlines_begin = newlines & !(newlines << 1 | rest << 1);
    // The last space before something else begins a piece, whatever is before it.
    let spaces_begin = spaces & (!(spaces << 1) | !(white >> 1));
    let begin = digits | rest_begins | letters_begin | newlines_begin | spaces_begin;
    // Whether the last byte before something unknown begins a piece depends on that, and a line may end there after spaces.
    let known = below_lowest(beyond) >> 1;
    let before_lines = spaces & (newlines >> 1 | known.wrapping_add(1));
    let known = known & before_contraction(bytes, apostrophes & rest_begins & letters >> 1);
    begin & known & before_spaces_that_end_a_line(before_lines, white) & !1
}

/// The bits below the lowest one; all where there is none.
const fn below_lowest(bits: u64) -> u64 {
    (bits & bits.wrapping_neg()).wrapping_sub(1)
}

/// The bits up to the first apostrophe before a letter that begins a contraction, which is left to the DFA.
#[inline]
fn before_contraction(block: &[u8; BLOCK_BYTES], mut apostrophes: u64) -> u64 {
    while apostrophes != 0 {
        let place = apostrophes.trailing_zeros() as usize;
        if block.get(place + 1).is_some_and(|&letter| begins_contraction(letter)) {
            return apostrophes ^ (apostrophes - 1);
        }
        apostrophes &= apostrophes - 1;
    }
    u64::MAX
}

/// The bits up to the beginning of the white space that has a space before a line end: all of it is one piece.
#[inline]
fn before_spaces_that_end_a_line(spaces: u64, white: u64) -> u64 {
    if spaces == 0 {
        return u64::MAX;
    }
    let others_before = !white & below_lowest(spaces);
    // The bit above the highest of them, and all below.
    u64::MAX.checked_shr(others_before.leading_zeros()).unwrap_or(0) << 1 | 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::Artifact;
    use crate::tokenizer::Scanner;
    use std::vec::Vec;

    fn artifact() -> Artifact<Vec<u8>> {
        let data = std::fs::read("../../src/slm2/data/qwen3-0.6b.slm2").expect("the embedded artifact is there");
        Artifact::from_bytes(data).expect("it opens")
    }

    /// Where pieces begin, by the DFA alone, as far as what follows the text cannot change it.
    fn by_dfa(scanner: &Scanner, text: &[u8]) -> Vec<usize> {
        let (mut begin, mut all) = (0, Vec::new());
        while let Some(length) = scanner.decide_by_bytes(&text[begin..], &mut scanner.begin()) {
            begin += length;
            all.push(begin);
        }
        all
    }

    /// What is found is a beginning of the DFA, and so is nothing in between.
    fn check(scanner: &Scanner, text: &[u8]) -> usize {
        let kinds = scanner.kinds().expect("the DFA is the known one");
        let mut rest = beginnings(first_block(text, &mut NOTHING.clone()), kinds);
        let mut found = Vec::new();
        while rest != 0 {
            found.push(rest.trailing_zeros() as usize);
            rest &= rest - 1;
        }
        let expected = by_dfa(scanner, text);
        assert_eq!(Some(&found[..]), expected.get(..found.len()), "{:?}", text.escape_ascii().collect::<Vec<u8>>());
        found.len()
    }

    #[test]
    fn short_texts_begin_where_the_dfa_says() {
        const BYTES: [u8; 10] = *b"sAb7 \t\n'!\xC3";
        let artifact = artifact();
        let scanner = artifact.scanner();
        let mut found = 0;
        for number in 0..10_usize.pow(6) {
            let mut rest = number;
            let text: [u8; 6] = core::array::from_fn(|_| {
                let byte = BYTES[rest % 10];
                rest /= 10;
                byte
            });
            found += check(scanner, &text);
        }
        assert!(found > 1_000_000, "{found}");
    }

    #[test]
    fn short_texts_of_characters_begin_where_the_dfa_says() {
        // Letters, rest, digits and spaces of one to four bytes; U+017F is an s for a contraction.
        const PARTS: [&str; 16] =
            ["a", "s", "é", "の", "𝒳", "!", "'", "¡", "，", "😀", "7", "٣", " ", "\u{3000}", "\n", "\u{17F}"];
        let artifact = artifact();
        let mut found = 0;
        for number in 0..PARTS.len().pow(5) {
            let text: std::string::String = (0..5).map(|place| PARTS[number >> (4 * place) & 15]).collect();
            found += check(artifact.scanner(), text.as_bytes());
        }
        assert!(found > 400_000, "{found}");
    }

    #[test]
    fn random_blocks_begin_where_the_dfa_says() {
        const SEED: u64 = 23;
        const BYTES: &[u8] = b"etaoinsrlvmdEOSRDxyz0149    \t\n\n\r'\"!#._-{}()\0\x0B\x0C\x1C\x7F\xC2\xA0\xE4\xFF";
        const CHARACTERS: [&str; 12] = ["ä", "ß", "д", "م", "の", "漢", "한", "ิ", "€", "…", "\u{A0}", "😀"];
        let artifact = artifact();
        let scanner = artifact.scanner();
        let mut state = SEED;
        let mut random = |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).expect("31 bits") % limit
        };
        let mut found = 0;
        for _ in 0..200_000 {
            // Few kinds of bytes make long runs.
            let kinds: [u8; 4] = core::array::from_fn(|_| BYTES[random(BYTES.len())]);
            let (any, wide) = (random(2) == 0, random(3));
            let mut text = Vec::new();
            for _ in 0..random(100) {
                if random(4) < wide {
                    text.extend(CHARACTERS[random(CHARACTERS.len())].as_bytes());
                } else {
                    text.push(if any { BYTES[random(BYTES.len())] } else { kinds[random(4)] });
                }
            }
            found += check(scanner, &text);
        }
        assert!(found > 900_000, "{found}");
    }
}
