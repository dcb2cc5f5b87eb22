//! Where the pieces of ASCII text begin, 64 bytes at a time, for the one pre-tokenizer that this is known of.
//!
//! Qwen's pattern decides from a character, the two before it and the one after it whether a piece begins there, but in a few places,
//! which are left to the DFA. So the beginnings of a block are a few operations on words that have a bit for each byte. The DFA is sealed
//! in the artifact and says what is right: when it is opened, its states that ASCII leads to are compared with [`KNOWN`], the states
//! that this file was written from, and where one differs nothing here is used. Tests compare both on all short texts.
//!
//! The pattern, with `L` for letters, `N` digits, `R` line ends, `S` other white space, `O` what remains:
//! `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^RLN]?L+|N| ?O+R*|[SR]*R+|[SR]+(?![^SR])|[SR]+`.

use slm2_simd::{BLOCK_BYTES, Classes, classes};

use crate::artifact::Pretokenizer;
use crate::artifact::pretokenizer::{DEAD, START, State};

/// Kinds of ASCII, in the order of the rows below.
const KINDS: usize = 8;

/// The DFA that the pattern has on ASCII: for each state the next one on a letter that a contraction may begin with, on another letter, a
/// digit, U+0020, another space, a line end, an apostrophe, and on what remains. `*` is not compared: what comes there is left to the DFA.
///
/// States, each after the one that leads to it: `s` where a piece begins, `l` letters, `n` a digit, `b` U+0020, `t` another space, `e`
/// white space up to a line end, `q` an apostrophe, `f` one of the rest, `o` more of them, `w` more white space, `r` line ends after
/// the rest, `x` white space after a line end; `.` none.
const KNOWN: [(u8, &[u8; KINDS]); 12] = [
    (b's', b"llnbteqf"),
    (b'l', b"ll......"),
    (b'n', b"........"),
    (b'b', b"ll.wweoo"),
    (b't', b"ll.wwe.."),
    (b'e', b"...xxe.."),
    (b'q', b"*l...roo"),
    (b'f', b"ll...roo"),
    (b'o', b".....roo"),
    (b'w', b"...wwe.."),
    (b'r', b".....r.."),
    (b'x', b"...xxe.."),
];

/// Where a row of [`KNOWN`] has a byte.
const fn kind(byte: u8) -> usize {
    match byte {
        b'A'..=b'Z' | b'a'..=b'z' => !begins_contraction(byte) as usize,
        b'0'..=b'9' => 2,
        b' ' => 3,
        b'\t' | 0x0B | 0x0C => 4,
        b'\n' | b'\r' => 5,
        b'\'' => 6,
        _ => 7,
    }
}

/// `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll`, `'d`, in either case.
const fn begins_contraction(letter: u8) -> bool {
    matches!(letter | 0x20, b's' | b't' | b'r' | b'v' | b'm' | b'l' | b'd')
}

/// How many bytes before the last one the match ends in a state of [`KNOWN`].
const fn match_back(name: u8) -> Option<usize> {
    match name {
        b'x' => None,
        b'w' => Some(1),
        _ => Some(0),
    }
}

/// Whether the states of a checked DFA that ASCII leads to are the known ones.
pub(super) fn are_known(dfa: &Pretokenizer<'_>) -> bool {
    let mut states = [None; 128];
    if let Some(first) = states.get_mut(usize::from(b's')) {
        *first = Some(START);
    }
    KNOWN.iter().all(|&(name, row)| (0..0x80).all(|byte| is_known(dfa, &mut states, name, *row, byte)))
}

/// Whether a byte leads from a state where it is known to lead; states that are met for the first time are noted under their name.
fn is_known(dfa: &Pretokenizer<'_>, states: &mut [Option<State>; 128], name: u8, row: [u8; KINDS], byte: u8) -> bool {
    let Some(state) = states.get(usize::from(name)).copied().flatten() else { return false };
    let next = row.get(kind(byte)).copied().unwrap_or(b'.');
    let target = dfa.after_byte(state, byte);
    match (next, states.get_mut(usize::from(next))) {
        (b'*', _) => true,
        (b'.', _) => target == DEAD,
        (_, Some(Some(met))) => *met == target,
        (_, Some(place)) => {
            *place = Some(target);
            target != DEAD && dfa.match_back(target) == match_back(next)
        }
        (_, None) => false,
    }
}

/// Where pieces begin in `text`, which begins with one: a bit for each of the next 63 bytes, none where that is not known here. The piece
/// before each of them is known as well.
#[inline]
pub(super) fn beginnings(text: &[u8]) -> u64 {
    if let Some(block) = text.first_chunk::<BLOCK_BYTES>() {
        return of_block(block);
    }
    // What comes after the text is not known, which is what bytes beyond ASCII say.
    let mut block = [u8::MAX; BLOCK_BYTES];
    if let Some(place) = block.get_mut(..text.len()) {
        place.copy_from_slice(text);
    }
    of_block(&block)
}

#[inline]
fn of_block(block: &[u8; BLOCK_BYTES]) -> u64 {
    let Classes { letters, digits, blanks, newlines, tabs, apostrophes, beyond } = classes(block);
    let spaces = blanks | tabs;
    let white = spaces | newlines;
    let rest = !(letters | digits | white | beyond);
    // A bit of `x << 1` says that the byte before is x.
    let rest_begins = rest & !(rest << 1 | blanks << 1);
    // Letters follow in the same piece a space, and one of the rest that begins a piece.
    let letters_begin = letters & !(letters << 1 | spaces << 1) & (!(rest << 1) | rest << 2 | blanks << 2);
    // Line ends follow the rest in the same piece.
    let newlines_begin = newlines & !(newlines << 1 | rest << 1);
    // The last space before something else begins a piece, whatever is before it.
    let spaces_begin = spaces & (!(spaces << 1) | !(white >> 1));
    let begin = digits | rest_begins | letters_begin | newlines_begin | spaces_begin;
    // Whether the last byte before something unknown begins a piece depends on that, and a line may end there after spaces.
    let known = below_lowest(beyond) >> 1;
    let before_lines = spaces & (newlines >> 1 | known.wrapping_add(1));
    let known = known & before_contraction(block, apostrophes & rest_begins & letters >> 1);
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
        while let Some(length) = scanner.decide(&text[begin..], &mut scanner.begin()) {
            begin += length;
            all.push(begin);
        }
        all
    }

    /// What is found is a beginning of the DFA, and so is nothing in between.
    fn check(scanner: &Scanner, text: &[u8]) -> usize {
        let mut rest = beginnings(text);
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
        assert!(are_known(&artifact.pretokenizer()));
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
    fn random_blocks_begin_where_the_dfa_says() {
        const SEED: u64 = 23;
        const BYTES: &[u8] = b"etaoinsrlvmdEOSRDxyz0149    \t\n\n\r'\"!#._-{}()\0\x0B\x0C\x1C\x7F\xC2\xA0\xE4\xFF";
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
            let any = random(2) == 0;
            let text: Vec<u8> =
                (0..random(100)).map(|_| if any { BYTES[random(BYTES.len())] } else { kinds[random(4)] }).collect();
            found += check(scanner, &text);
        }
        assert!(found > 1_000_000, "{found}");
    }

    #[test]
    fn a_dfa_that_differs_anywhere_is_not_known() {
        let artifact = artifact();
        let section = artifact.pretokenizer_section();
        let dfa = Pretokenizer::over(section);
        let accept_end = 264 + dfa.accept().len();
        let table = accept_end.next_multiple_of(2);
        // A text for each of the known states.
        for text in ["", "a", "7", " ", "\t", "\n", "'", "!", "!!", "  ", "!\n", "\n "] {
            let state = text.bytes().fold(START, |state, byte| dfa.after_byte(state, byte)).index();
            for byte in (0..0x80).filter(|&byte| text != "'" || !begins_contraction(byte)) {
                let place = table + 2 * (state * dfa.width() + usize::from(dfa.class_of_byte()[usize::from(byte)]));
                let mut changed = section.to_vec();
                changed[place..place + 2].copy_from_slice(&[u8::from(section[place] != 1), 0]);
                assert!(!are_known(&Pretokenizer::over(&changed)), "{text:?} {byte}");
            }
            // The start accepts nothing, and nobody asks.
            let mut changed = section.to_vec();
            changed[264 + state] ^= 1;
            assert!(text.is_empty() || !are_known(&Pretokenizer::over(&changed)), "{text:?}");
        }
        let small = std::fs::read("../../tests/data/small-v1.slm2").expect("it is there");
        let small = Artifact::from_bytes(small).expect("it opens");
        assert!(are_known(&dfa) && !are_known(&small.pretokenizer()));
    }
}
