//! What a sampler is told (contract/sampling.md, S-1 to S-5): every parameter by name, none with a default of its surroundings.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use sha2::{Digest, Sha256};

use super::math::float32;
use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::json::shown_float;
use crate::tokenizer::Profile;

/// The logits of Qwen3-0.6B: 151,669 ids with a token, and padding up to a multiple of 256.
pub const WIDTH: usize = 151_936;
/// Ids from here on have no token.
pub const MEANINGLESS_FROM: usize = 151_669;

/// Which generator draws, and from where (decisions D7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seed {
    /// PCG XSH-RR 64/32.
    Pcg32 {
        /// The initial state.
        seed: u64,
        /// The sequence.
        stream: u64,
    },
    /// `ChaCha` with 8 rounds.
    ChaCha8 {
        /// The key; [`Seed::chacha8`] makes it of a number.
        key: [u8; 32],
        /// The nonce.
        stream: u64,
    },
    /// The Mersenne Twister as torch's CPU generator seeds it; it has no streams.
    Mt19937Torch {
        /// Taken modulo 2^32.
        seed: u64,
    },
}

impl Seed {
    /// `ChaCha8` whose key is a number, little-endian, and 24 zero bytes.
    #[must_use]
    pub fn chacha8(seed: u64, stream: u64) -> Self {
        let mut key = [0; 32];
        key.iter_mut().zip(seed.to_le_bytes()).for_each(|(to, from)| *to = from);
        Self::ChaCha8 { key, stream }
    }

    /// The number of a stream by its name: the first 8 bytes, little-endian, of the SHA-256 of its UTF-8.
    #[must_use]
    pub fn stream_of_name(name: &str) -> u64 {
        Sha256::digest(name.as_bytes()).first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// The name that configurations use.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pcg32 { .. } => "pcg32",
            Self::ChaCha8 { .. } => "chacha8",
            Self::Mt19937Torch { .. } => "mt19937-torch",
        }
    }
}

/// All that decides, beside logits and history, which id comes. What ends a generation is the host's business.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplingConfig {
    /// Decisions D8.
    pub profile: Profile,
    /// 0 for the greatest logit, else above 0; rounded to float32 before it is used.
    pub temperature: f64,
    /// How many of the greatest logits stay, those equal to the last of them too; 0 is off.
    pub top_k: u32,
    /// Share of the mass that stays; 1 is off.
    pub top_p: f64,
    /// Share of the greatest probability that a token must have; 0 is off.
    pub min_p: f64,
    /// Above 0; 1 is off; rounded to float32 before it is used.
    pub repetition_penalty: f64,
    /// The generator.
    pub seed: Seed,
    /// What is added to the logits of ids.
    pub logit_bias: Vec<(u32, f64)>,
    /// Ids that cannot be drawn.
    pub banned_ids: Vec<u32>,
    /// Taken once from the logit of each id of the output.
    pub presence_penalty: f64,
    /// Taken from the logit of each id of the output as often as it is there.
    pub frequency_penalty: f64,
}

impl SamplingConfig {
    /// The profile as reports name it, with the torch release where it is the publisher's.
    #[must_use]
    pub const fn report_name(&self) -> &'static str {
        match self.profile {
            Profile::Contract => "contract",
            Profile::Publisher => "publisher (torch-2.13-cpu-avx512)",
        }
    }

    /// Refuse values that are none.
    pub(super) fn check(&self, width: usize) -> Result<(), Error> {
        check_pair(self.profile, self.seed.name())?;
        check_scale("temperature", self.temperature, true)?;
        check_scale("repetition_penalty", self.repetition_penalty, false)?;
        check_share("top_p", self.top_p)?;
        check_share("min_p", self.min_p)?;
        check_offset("presence_penalty", self.presence_penalty)?;
        check_offset("frequency_penalty", self.frequency_penalty)?;
        self.logit_bias.iter().try_for_each(|&(id, bias)| {
            check_id("logit_bias", id, width)?;
            check_offset("logit_bias", bias)
        })?;
        self.banned_ids.iter().try_for_each(|&id| check_id("banned_ids", id, width))
    }
}

/// A profile and the name of a generator whose stream it defines.
pub(super) fn check_pair(profile: Profile, rng: &str) -> Result<(), Error> {
    let torch = rng == "mt19937-torch";
    let (profile, expected, fits) = match profile {
        Profile::Contract => ("contract", "pcg32 or chacha8", !torch),
        Profile::Publisher => ("publisher", "mt19937-torch", torch),
    };
    if fits {
        return Ok(());
    }
    let fields = [("profile", profile.into()), ("rng", rng.into()), ("expected", expected.into())];
    Err(Error::new(ErrorCode::SamplingPairing, fields))
}

fn invalid(field: &str, expected: &str, found: String) -> Error {
    let fields =
        [("field", String::from(field).into()), ("expected", String::from(expected).into()), ("found", found.into())];
    Error::new(ErrorCode::InvalidValue, fields)
}

/// A temperature or a penalty: what divides must be usable as float32 too.
pub(super) fn check_scale(field: &str, value: f64, zero: bool) -> Result<(), Error> {
    let rounded = float32(value);
    if (zero && value == 0.0) || (rounded > 0.0 && rounded < f32::INFINITY) {
        return Ok(());
    }
    let start = if zero { "0, or " } else { "" };
    Err(invalid(field, &format!("{start}a number above 0 that float32 can hold"), shown_float(value)))
}

pub(super) fn check_share(field: &str, value: f64) -> Result<(), Error> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(invalid(field, "a number from 0 to 1", shown_float(value)))
}

pub(super) fn check_offset(field: &str, value: f64) -> Result<(), Error> {
    if float32(value).is_finite() {
        return Ok(());
    }
    Err(invalid(field, "a finite number that float32 can hold", shown_float(value)))
}

fn check_id(field: &str, id: u32, width: usize) -> Result<(), Error> {
    if (id as usize) < width {
        return Ok(());
    }
    Err(invalid(field, &format!("ids below {width}"), id.to_string()))
}
