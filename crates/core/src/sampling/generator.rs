//! Random words from a seed, and uniforms from words (contract/sampling.md, S-30 to S-35; decisions D7).

mod chacha8;
mod mt19937;
mod pcg32;

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::config::Seed;
use crate::error::Error;
use crate::error_code::ErrorCode;
pub(super) use chacha8::ChaCha8;
pub(super) use mt19937::{Mt19937, uniform as uniform_of_torch};
pub(super) use pcg32::Pcg32;

/// How far a generator that can only go on word by word advances in one call.
const MOST_BY_WORD: u64 = 1 << 32;

/// 2^-53, by which 53 random bits become a number in [0, 1).
const GRAIN: f64 = 1.0 / 9_007_199_254_740_992.0;

/// A stream of 32-bit words.
#[derive(Clone)]
pub enum Generator {
    /// See [`Seed::Pcg32`].
    Pcg32(Pcg32),
    /// See [`Seed::ChaCha8`].
    ChaCha8(ChaCha8),
    /// See [`Seed::Mt19937Torch`].
    Mt19937Torch(Mt19937),
}

impl Generator {
    /// The generator of a seed, at its beginning.
    #[must_use]
    pub fn new(seed: &Seed) -> Self {
        match *seed {
            Seed::Pcg32 { seed, stream } => Self::Pcg32(Pcg32::new(seed, stream)),
            Seed::ChaCha8 { key, stream } => Self::ChaCha8(ChaCha8::new(key, stream)),
            Seed::Mt19937Torch { seed } => Self::Mt19937Torch(Mt19937::new(seed)),
        }
    }

    /// The next word.
    pub fn word(&mut self) -> u32 {
        match self {
            Self::Pcg32(generator) => generator.word(),
            Self::ChaCha8(generator) => generator.word(),
            Self::Mt19937Torch(generator) => generator.word(),
        }
    }

    /// A multiple of 2^-53 in [0, 1), from two words.
    pub fn uniform(&mut self) -> f64 {
        let (first, second) = (u64::from(self.word()), u64::from(self.word()));
        match self {
            Self::Pcg32(_) => of_53_bits(((first << 32) | second) >> 11),
            Self::ChaCha8(_) => of_53_bits(((second << 32) | first) >> 11),
            Self::Mt19937Torch(_) => mt19937::uniform(first, second),
        }
    }

    /// How many words were taken since the seed.
    #[must_use]
    pub fn position(&self) -> u128 {
        match self {
            Self::Pcg32(generator) => generator.position().into(),
            Self::ChaCha8(generator) => generator.position(),
            Self::Mt19937Torch(generator) => generator.position().into(),
        }
    }

    /// Go on as if `count` words had been taken: in O(log n), O(1) and O(n), in the order of the names above. So the last takes at most
    /// 2^32 at once: `invalid_value`, which changes nothing.
    pub fn advance(&mut self, count: u64) -> Result<(), Error> {
        match self {
            Self::Pcg32(generator) => generator.advance(count),
            Self::ChaCha8(generator) => generator.advance(count),
            Self::Mt19937Torch(_) if count > MOST_BY_WORD => {
                let expected = "an integer from 0 to 2^32 with mt19937-torch, which goes on word by word";
                return Err(Error::invalid_value("words", expected, &count.to_string()));
            }
            Self::Mt19937Torch(generator) => generator.advance(count),
        }
        Ok(())
    }

    /// All there is to say about the generator (S-35).
    #[must_use]
    pub fn state(&self) -> Vec<u8> {
        let (kind, content) = match self {
            Self::Pcg32(generator) => (1, generator.content()),
            Self::ChaCha8(generator) => (2, generator.content()),
            Self::Mt19937Torch(generator) => (3, generator.content()),
        };
        let mut state = Vec::from([kind]);
        state.extend(self.position().to_le_bytes());
        state.extend(content);
        state
    }

    /// Go on from what [`Generator::state`] of a generator of the same kind gave; a refusal changes nothing.
    pub fn restore(&mut self, state: &[u8]) -> Result<(), Error> {
        let (kind, length, name) = match self {
            Self::Pcg32(_) => (1, 33, "pcg32"),
            Self::ChaCha8(_) => (2, 57, "chacha8"),
            Self::Mt19937Torch(_) => (3, 2515, "mt19937-torch"),
        };
        let refused = |reason: &str| {
            let fields = [("rng", String::from(name).into()), ("reason", String::from(reason).into())];
            Error::new(ErrorCode::GeneratorState, fields)
        };
        let parts = state.split_first_chunk::<1>().filter(|([found], _)| *found == kind && state.len() == length);
        let Some((position, content)) = parts.and_then(|(_, rest)| rest.split_first_chunk::<16>()) else {
            return Err(refused(&alloc::format!("{length} bytes that begin with {kind} were expected")));
        };
        let position = u128::from_le_bytes(*position);
        let (restored, reason) = match self {
            Self::Pcg32(_) => {
                (Pcg32::of(position, content).map(Self::Pcg32), "the increment is even or the position too large")
            }
            Self::ChaCha8(_) => (ChaCha8::of(position, content).map(Self::ChaCha8), "the position is too large"),
            Self::Mt19937Torch(_) => {
                (Mt19937::of(position, content).map(Self::Mt19937Torch), "the index or the position is too large")
            }
        };
        *self = restored.ok_or_else(|| refused(reason))?;
        Ok(())
    }
}

/// 53 bits as a number in [0, 1): exact.
#[allow(clippy::cast_precision_loss)] // 53 bits are what a float64 holds
fn of_53_bits(bits: u64) -> f64 {
    bits as f64 * GRAIN
}

/// Eight bytes at a place of a state.
fn u64_at(content: &[u8], at: usize) -> Option<u64> {
    content.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}
