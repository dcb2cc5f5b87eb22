//! PCG XSH-RR 64/32 (O'Neill 2014).

use alloc::vec::Vec;

use super::u64_at;

const MULTIPLIER: u64 = 6_364_136_223_846_793_005;

/// The generator.
#[derive(Clone)]
pub struct Pcg32 {
    state: u64,
    increment: u64,
    position: u64,
}

impl Pcg32 {
    /// `srandom(initstate = seed, initseq = stream)`.
    pub(super) const fn new(seed: u64, stream: u64) -> Self {
        let increment = (stream << 1) | 1;
        let state = increment.wrapping_add(seed).wrapping_mul(MULTIPLIER).wrapping_add(increment);
        Self { state, increment, position: 0 }
    }

    #[allow(clippy::cast_possible_truncation)] // the low 32 bits are the word
    pub(super) const fn word(&mut self) -> u32 {
        let old = self.state;
        self.state = old.wrapping_mul(MULTIPLIER).wrapping_add(self.increment);
        self.position = self.position.wrapping_add(1);
        ((((old >> 18) ^ old) >> 27) as u32).rotate_right((old >> 59) as u32)
    }

    pub(super) const fn position(&self) -> u64 {
        self.position
    }

    /// Brown's jump: the map x -> a x + c, applied `count` times by squaring.
    pub(super) const fn advance(&mut self, count: u64) {
        let (mut power, mut offset, mut a, mut c, mut left) = (1_u64, 0_u64, MULTIPLIER, self.increment, count);
        while left > 0 {
            if left & 1 == 1 {
                power = power.wrapping_mul(a);
                offset = offset.wrapping_mul(a).wrapping_add(c);
            }
            c = a.wrapping_add(1).wrapping_mul(c);
            a = a.wrapping_mul(a);
            left >>= 1;
        }
        self.state = power.wrapping_mul(self.state).wrapping_add(offset);
        self.position = self.position.wrapping_add(count);
    }

    pub(super) fn content(&self) -> Vec<u8> {
        [self.state.to_le_bytes(), self.increment.to_le_bytes()].concat()
    }

    /// `None` where the increment is even or the position too large.
    pub(super) fn of(position: u128, content: &[u8]) -> Option<Self> {
        let (state, increment) = (u64_at(content, 0)?, u64_at(content, 8)?);
        (increment & 1 == 1).then_some(Self { state, increment, position: position.try_into().ok()? })
    }
}
