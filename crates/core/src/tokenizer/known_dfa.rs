//! The one pre-tokenizer whose ways are known beforehand, Qwen's, so that more than a byte at a time can be decided.
//!
//! The DFA is sealed in the artifact and says what is right: when it is opened, its states are compared with [`KNOWN`], the states that
//! [`blocks`](super::blocks) and [`Scanner`](super::Scanner) were written from, and where one differs nothing of that is used.
//!
//! The pattern, with `L` for letters, `N` digits, `R` line ends, `S` other white space, `O` what remains:
//! `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^RLN]?L+|N| ?O+R*|[SR]*R+|[SR]+(?![^SR])|[SR]+`.

use crate::artifact::Pretokenizer;
use crate::artifact::pretokenizer::{DEAD, START, State};

/// Kinds of ASCII, in the order of the rows below.
const KINDS: usize = 8;
/// How many states are known.
const STATES: usize = 12;

/// A state of the DFA for each row of [`KNOWN`], in its order.
pub(super) type Column = [State; STATES];

/// The DFA that the pattern has on ASCII: for each state the next one on a letter that a contraction may begin with, on another letter, a
/// digit, U+0020, another space, a line end, an apostrophe, and on what remains. `*` is not compared: what comes there is left to the DFA.
///
/// States, each after the one that leads to it: `s` where a piece begins, `l` letters, `n` a digit, `b` U+0020, `t` another space, `e`
/// white space up to a line end, `q` an apostrophe, `f` one of the rest, `o` more of them, `w` more white space, `r` line ends after
/// the rest, `x` white space after a line end; `.` none.
const KNOWN: [(u8, &[u8; KINDS]); STATES] = [
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
/// Where a row has another letter, and what remains.
const LETTER: usize = 1;
const REST: usize = 7;

/// Where a row of [`KNOWN`] has a byte.
const fn kind(byte: u8) -> usize {
    match byte {
        b'A'..=b'Z' | b'a'..=b'z' => !begins_contraction(byte) as usize,
        b'0'..=b'9' => 2,
        b' ' => 3,
        b'\t' | 0x0B | 0x0C => 4,
        b'\n' | b'\r' => 5,
        b'\'' => 6,
        _ => REST,
    }
}

/// `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll`, `'d`, in either case.
pub(super) const fn begins_contraction(letter: u8) -> bool {
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

/// The states of a DFA that is the known one on ASCII.
pub(super) struct KnownStates {
    /// By their names.
    named: [Option<State>; 128],
    pub(super) all: Column,
}

impl KnownStates {
    /// The states of a checked DFA that ASCII leads to, where they are the known ones.
    pub(super) fn of(dfa: &Pretokenizer<'_>) -> Option<Self> {
        let mut known = Self { named: [None; 128], all: [START; STATES] };
        if let Some(first) = known.named.get_mut(usize::from(b's')) {
            *first = Some(START);
        }
        let is_known = KNOWN.iter().all(|&(name, row)| (0..0x80).all(|byte| known.admits(dfa, name, *row, byte)));
        known.all = KNOWN.map(|(name, _)| known.named(name));
        is_known.then_some(known)
    }

    /// The state of a name.
    pub(super) fn named(&self, name: u8) -> State {
        self.named.get(usize::from(name)).copied().flatten().unwrap_or(DEAD)
    }

    /// Where the states are after a letter that no contraction begins with.
    pub(super) fn after_letter(&self) -> Column {
        KNOWN.map(|(_, row)| self.named(row[LETTER]))
    }

    /// Where the states are after what is no letter, digit or white space, nor an apostrophe.
    pub(super) fn after_rest(&self) -> Column {
        KNOWN.map(|(_, row)| self.named(row[REST]))
    }

    /// Whether a byte leads from a state where it is known to lead; states that are met for the first time are noted under their name.
    fn admits(&mut self, dfa: &Pretokenizer<'_>, name: u8, row: [u8; KINDS], byte: u8) -> bool {
        let Some(state) = self.named.get(usize::from(name)).copied().flatten() else { return false };
        let next = row.get(kind(byte)).copied().unwrap_or(b'.');
        let target = dfa.after_byte(state, byte);
        match (next, self.named.get_mut(usize::from(next))) {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::Artifact;

    fn is_known(dfa: &Pretokenizer<'_>) -> bool {
        KnownStates::of(dfa).is_some()
    }

    #[test]
    fn a_dfa_that_differs_anywhere_is_not_known() {
        let data = std::fs::read("../../src/slm2/data/qwen3-0.6b.slm2").expect("the embedded artifact is there");
        let artifact = Artifact::from_bytes(data).expect("it opens");
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
                assert!(!is_known(&Pretokenizer::over(&changed)), "{text:?} {byte}");
            }
            // The start accepts nothing, and nobody asks.
            let mut changed = section.to_vec();
            changed[264 + state] ^= 1;
            assert!(text.is_empty() || !is_known(&Pretokenizer::over(&changed)), "{text:?}");
        }
        let small = std::fs::read("../../tests/data/small-v1.slm2").expect("it is there");
        let small = Artifact::from_bytes(small).expect("it opens");
        assert!(is_known(&dfa) && !is_known(&small.pretokenizer()));
    }
}
