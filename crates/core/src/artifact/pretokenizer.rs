//! Section 0x20: the byte DFA that cuts text into pieces.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use super::container::check_padding;
use super::layout::{align, part, size, u16_at, u32_from};
use crate::error::Error;
use crate::error_code::ErrorCode;

const MAX_STATES: u32 = 65_535;
const MAX_CLASSES: u32 = 256;

/// A state of the DFA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct State(u16);

impl State {
    pub(crate) fn index(self) -> usize {
        self.0.into()
    }
}

/// From here nothing matches.
pub(crate) const DEAD: State = State(0);
/// Where a piece begins.
pub(crate) const START: State = State(1);

/// How many bytes back a match may end: 1 + that has seven bits.
const MAX_BACK: usize = 126;

/// The section, opened. Symbols are the byte classes and, after them, the end of input.
#[derive(Clone, Copy)]
pub(crate) struct Pretokenizer<'a> {
    states: u32,
    classes: u32,
    class_of_byte: &'a [u8],
    accept: &'a [u8],
    next: &'a [u8],
}

impl<'a> Pretokenizer<'a> {
    /// The section as its counts part it.
    pub(crate) fn over(section: &'a [u8]) -> Self {
        let states = u32_from(section, 0).unwrap_or(0);
        let classes = u32_from(section, 4).unwrap_or(0);
        let accept_end = 264 + u64::from(states);
        Self {
            states,
            classes,
            class_of_byte: part(section, 8, 264),
            accept: part(section, 264, accept_end),
            next: part(section, align(accept_end, 2), size(section)),
        }
    }

    /// Step 6 of the order of checks. `data[start..end]` is the section.
    #[inline(never)]
    pub(crate) fn check(data: &'a [u8], start: u64, end: u64) -> Result<Self, Error> {
        let section = part(data, start, end);
        if section.len() < 8 {
            return Err(length_error(section, 8));
        }
        let dfa = Self::over(section);
        let (states, classes) = (dfa.states, dfa.classes);
        if !(2..=MAX_STATES).contains(&states) || !(1..=MAX_CLASSES).contains(&classes) {
            let fields = [("states", states.into()), ("classes", classes.into())];
            return Err(Error::new(ErrorCode::ArtifactPretokenizerCount, fields));
        }
        let accept_end = 264 + u64::from(states);
        let table = align(accept_end, 2);
        let expected = table + 2 * u64::from(states) * (u64::from(classes) + 1);
        if size(section) != expected {
            return Err(length_error(section, expected));
        }
        check_padding(data, start + accept_end, start + table)?;
        dfa.check_classes()?;
        dfa.check_transitions()?;
        dfa.check_dead()?;
        dfa.check_order()?;
        dfa.check_accept()?;
        dfa.check_stuck()?;
        Ok(dfa)
    }

    /// Symbols of a row: the byte classes and the end of input.
    pub(crate) fn width(&self) -> usize {
        self.end_of_input() + 1
    }

    /// The class of each byte.
    pub(crate) fn class_of_byte(&self) -> [u8; 256] {
        self.class_of_byte.first_chunk().copied().unwrap_or([0; 256])
    }

    /// For each state 0, or 1 + the bytes between the end of a match and the current position.
    pub(crate) fn accept(&self) -> &'a [u8] {
        self.accept
    }

    /// Next states, row by row.
    pub(crate) fn targets(&self) -> impl ExactSizeIterator<Item = u16> + 'a {
        self.next.chunks_exact(2).map(|target| target.first_chunk().copied().map_or(DEAD.0, u16::from_le_bytes))
    }

    /// The state after a byte.
    pub(crate) fn after_byte(&self, state: State, byte: u8) -> State {
        let class = self.class_of_byte.get(usize::from(byte)).copied().unwrap_or(0);
        self.after(state, class.into())
    }

    /// The state after the end of input.
    pub(crate) fn after_end(&self, state: State) -> State {
        self.after(state, self.end_of_input())
    }

    /// How many bytes back a match ends, in a state that accepts.
    pub(crate) fn match_back(&self, state: State) -> Option<usize> {
        self.accept.get(usize::from(state.0)).copied().unwrap_or(0).checked_sub(1).map(usize::from)
    }

    fn end_of_input(&self) -> usize {
        self.classes as usize
    }

    fn after(&self, state: State, symbol: usize) -> State {
        // 65,535 states of 257 symbols: below 2^24 + 2^16.
        let index = usize::from(state.0) * (self.end_of_input() + 1) + symbol;
        State(u16_at(self.next, index).unwrap_or(DEAD.0))
    }

    /// All states, which are fewer than 2^16.
    fn all_states(&self) -> impl Iterator<Item = State> + use<> {
        (0..=u16::MAX).zip(0..self.states).map(|(state, _)| State(state))
    }

    /// Next states of a state: on each byte class, and on the end of input.
    fn row(&self, state: State) -> (impl Iterator<Item = State>, State) {
        ((0..self.end_of_input()).map(move |class| self.after(state, class)), self.after_end(state))
    }

    /// Classes are numbered by first occurrence, and all of them occur.
    fn check_classes(&self) -> Result<(), Error> {
        let mut seen = 0;
        for (byte, &class) in self.class_of_byte.iter().enumerate() {
            let class = u32::from(class);
            if class > seen || class >= self.classes {
                return Err(Error::new(ErrorCode::ArtifactPretokenizerClasses, [("byte", byte.into())]));
            }
            seen = seen.max(class + 1);
        }
        if seen != self.classes {
            return Err(Error::new(ErrorCode::ArtifactPretokenizerClasses, [("byte", 256_u32.into())]));
        }
        Ok(())
    }

    fn check_transitions(&self) -> Result<(), Error> {
        for state in self.all_states() {
            for symbol in 0..=self.end_of_input() {
                let found = self.after(state, symbol).0;
                if u32::from(found) >= self.states {
                    let fields = [
                        ("state", u32::from(state.0).into()),
                        ("class", symbol.into()),
                        ("found", u32::from(found).into()),
                    ];
                    return Err(Error::new(ErrorCode::ArtifactPretokenizerTransition, fields));
                }
            }
        }
        Ok(())
    }

    fn check_dead(&self) -> Result<(), Error> {
        let (mut bytes, end) = self.row(DEAD);
        if self.match_back(DEAD).is_some() || end != DEAD || bytes.any(|next| next != DEAD) {
            return Err(state_error(ErrorCode::ArtifactPretokenizerDead, DEAD));
        }
        if self.match_back(START).is_some() || self.after_end(START) != DEAD {
            return Err(state_error(ErrorCode::ArtifactPretokenizerDead, START));
        }
        Ok(())
    }

    /// States are numbered as a breadth-first walk meets them, and all are met.
    fn check_order(&self) -> Result<(), Error> {
        let mut met = 2;
        for state in self.all_states().skip(1) {
            if u32::from(state.0) >= met {
                return Err(order_error(met));
            }
            let (bytes, end) = self.row(state);
            for next in bytes.chain([end]).map(|next| u32::from(next.0)) {
                if next > met {
                    return Err(order_error(met));
                }
                met = met.max(next + 1);
            }
        }
        Ok(())
    }

    /// No match is empty or ends far back.
    fn check_accept(&self) -> Result<(), Error> {
        for (state, depth) in self.all_states().zip(self.depths()) {
            let refused = |back: &usize| *back as u64 >= u64::from(depth) || *back > MAX_BACK;
            if let Some(back) = self.match_back(state).filter(refused) {
                let fields = [("state", u32::from(state.0).into()), ("back", back.into()), ("depth", depth.into())];
                return Err(Error::new(ErrorCode::ArtifactPretokenizerAccept, fields));
            }
        }
        Ok(())
    }

    /// Least number of bytes after which each state can be reached; the end of input counts none.
    fn depths(&self) -> Vec<u32> {
        let mut depths = vec![u32::MAX; self.states as usize];
        let mut queue = VecDeque::new();
        lower(&mut depths, START, 0);
        queue.push_back(START);
        while let Some(state) = queue.pop_front() {
            let depth = depths.get(usize::from(state.0)).copied().unwrap_or(0);
            let (bytes, end) = self.row(state);
            if lower(&mut depths, end, depth) {
                queue.push_front(end);
            }
            for next in bytes {
                if lower(&mut depths, next, depth + 1) {
                    queue.push_back(next);
                }
            }
        }
        depths
    }

    /// Every walk comes to a match before it comes to the dead state, wherever the text ends after its first byte.
    fn check_stuck(&self) -> Result<(), Error> {
        for (state, can_end) in self.all_states().zip(self.undecided()) {
            let (mut bytes, end) = self.row(state);
            let goes_on = can_end || state == START;
            if (goes_on && bytes.any(|next| next == DEAD)) || (can_end && self.match_back(end).is_none()) {
                return Err(state_error(ErrorCode::ArtifactPretokenizerStuck, state));
            }
        }
        Ok(())
    }

    /// For each state, whether a text can be in it after a byte or more and before its first match is known. The start is
    /// such a state only where something leads back to it.
    fn undecided(&self) -> Vec<bool> {
        let mut found = vec![false; self.states as usize];
        let mut stack = vec![START];
        while let Some(state) = stack.pop() {
            for next in self.row(state).0 {
                if next != DEAD && self.match_back(next).is_none() && mark(&mut found, next) {
                    stack.push(next);
                }
            }
        }
        found
    }
}

/// Lower the depth of a state; whether it was greater.
fn lower(depths: &mut [u32], state: State, depth: u32) -> bool {
    match depths.get_mut(usize::from(state.0)) {
        Some(known) if *known > depth => {
            *known = depth;
            true
        }
        _ => false,
    }
}

/// Mark a state; whether it was not marked before.
fn mark(found: &mut [bool], state: State) -> bool {
    found.get_mut(usize::from(state.0)).is_some_and(|found| !core::mem::replace(found, true))
}

fn state_error(code: ErrorCode, state: State) -> Error {
    Error::new(code, [("state", u32::from(state.0).into())])
}

fn order_error(met: u32) -> Error {
    Error::new(ErrorCode::ArtifactPretokenizerOrder, [("state", met.into())])
}

fn length_error(section: &[u8], expected: u64) -> Error {
    let fields = [("found", section.len().into()), ("expected", expected.into())];
    Error::new(ErrorCode::ArtifactPretokenizerLength, fields)
}
