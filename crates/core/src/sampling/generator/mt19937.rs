//! The Mersenne Twister (Matsumoto and Nishimura 1998), as torch's CPU generator seeds and reads it.

#![allow(clippy::inline_always)] // loops over these become vector code only where they are inlined

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::of_53_bits;

const SIZE: usize = 624;
const MIDDLE: usize = 397;

/// The generator.
#[derive(Clone)]
pub struct Mt19937 {
    /// Two sets of words; the one at hand is made from the other.
    words: Box<[u32; SIZE]>,
    spare: Box<[u32; SIZE]>,
    /// Of the next word in `words`.
    at: usize,
    position: u64,
}

impl Mt19937 {
    /// `init_genrand(seed mod 2^32)`.
    #[allow(clippy::cast_possible_truncation)] // modulo 2^32 is meant
    pub(super) fn new(seed: u64) -> Self {
        let mut words = Box::new([0; SIZE]);
        let mut word = seed as u32;
        for (at, to) in (0_u32..).zip(words.iter_mut()) {
            if at > 0 {
                word = 1_812_433_253_u32.wrapping_mul(word ^ (word >> 30)).wrapping_add(at);
            }
            *to = word;
        }
        Self { words, spare: Box::new([0; SIZE]), at: SIZE, position: 0 }
    }

    pub(super) fn word(&mut self) -> u32 {
        if self.at == SIZE {
            self.twist();
        }
        let word = self.words.get(self.at).copied().unwrap_or_default();
        self.at += 1;
        self.position += 1;
        tempered(word)
    }

    /// The next set, from one array into the other, in stretches that read nothing that they write: loops that become vector code.
    fn twist(&mut self) {
        const STEP: usize = SIZE - MIDDLE;
        core::mem::swap(&mut self.words, &mut self.spare);
        let old: &[u32] = self.spare.as_slice();
        let (first, rest) = self.words.split_at_mut(STEP);
        let (second, third) = rest.split_at_mut(STEP);
        let (from_second, from_third) = (old.get(STEP..).unwrap_or_default(), old.get(2 * STEP..).unwrap_or_default());
        stretch(first, old, old.get(MIDDLE..).unwrap_or_default());
        stretch(second, from_second, first);
        stretch(third, from_third, second);
        // The last word goes on with the first of the new set; `stretch` had no word after it.
        if let ([start, ..], [.., last], [.., upper], Some(behind)) =
            (&*first, &mut *third, old, second.get(MIDDLE - 1 - STEP))
        {
            *last = behind ^ mixed(*upper, *start);
        }
        self.at = 0;
    }

    /// Go on over `count` pairs of words, and give those of some places, which rise, to `take`.
    pub(in crate::sampling) fn pairs(
        &mut self,
        count: usize,
        places: impl Iterator<Item = usize>,
        mut take: impl FnMut(u64, u64),
    ) {
        let mut passed = 0;
        for place in places {
            self.advance((2 * (place - passed)) as u64);
            take(self.word().into(), self.word().into());
            passed = place + 1;
        }
        self.advance((2 * (count - passed)) as u64);
    }

    pub(super) const fn position(&self) -> u64 {
        self.position
    }

    #[allow(clippy::cast_possible_truncation)] // compared with what is left of a set first
    pub(super) fn advance(&mut self, count: u64) {
        self.position += count;
        let mut left = count;
        while left > (SIZE - self.at) as u64 {
            left -= (SIZE - self.at) as u64;
            self.twist();
        }
        self.at += left as usize;
    }

    pub(super) fn content(&self) -> Vec<u8> {
        #[allow(clippy::cast_possible_truncation)] // at most 624
        let mut content = Vec::from((self.at as u16).to_le_bytes());
        content.extend(self.words.iter().flat_map(|word| word.to_le_bytes()));
        content
    }

    /// `None` where the index or the position is too large.
    pub(super) fn of(position: u128, content: &[u8]) -> Option<Self> {
        let (at, words) = content.split_first_chunk::<2>()?;
        let mut made = Self::new(0);
        made.position = u64::try_from(position).ok().filter(|position| position >> 63 == 0)?;
        made.at = u16::from_le_bytes(*at).into();
        let words = words.chunks_exact(4).filter_map(|bytes| bytes.first_chunk().map(|word| u32::from_le_bytes(*word)));
        made.words.iter_mut().zip(words).for_each(|(to, from)| *to = from);
        (made.at <= SIZE).then_some(made)
    }
}

/// As torch maps 64 bits: the first word is the high one, and the *low* 53 bits count.
pub(in crate::sampling) fn uniform(first: u64, second: u64) -> f64 {
    of_53_bits(((first << 32) | second) & ((1 << 53) - 1))
}

/// Words from the old ones at their place and after it, and from those 397 places ahead or 227 behind.
#[inline(always)]
fn stretch(to: &mut [u32], old: &[u32], other: &[u32]) {
    let uppers = old.iter().zip(old.get(1..).unwrap_or_default());
    to.iter_mut().zip(uppers).zip(other).for_each(|((to, (&upper, &lower)), other)| *to = other ^ mixed(upper, lower));
}

#[inline(always)]
const fn mixed(upper: u32, lower: u32) -> u32 {
    let joined = (upper & 0x8000_0000) | (lower & 0x7fff_ffff);
    (joined >> 1) ^ ((lower & 1).wrapping_neg() & 0x9908_b0df)
}

const fn tempered(word: u32) -> u32 {
    let word = word ^ (word >> 11);
    let word = word ^ ((word << 7) & 0x9d2c_5680);
    let word = word ^ ((word << 15) & 0xefc6_0000);
    word ^ (word >> 18)
}
