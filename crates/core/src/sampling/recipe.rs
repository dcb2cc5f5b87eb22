//! Logits that any host can rebuild bit for bit, for vectors and tests (contract/sampling.md, S-70 to S-73).

use alloc::vec::Vec;

use super::math::float32;

/// What a row is made from.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// Of the recipe.
    pub seed: u64,
    /// Counted from 0.
    pub step: u64,
    /// Of the bell.
    pub scale: f64,
    /// Height of the first of the 40 ids that stand out.
    pub head: f64,
    /// Whether logits are rounded to bfloat16 at the end.
    pub bfloat16: bool,
}

const HEAD: u64 = 40;
const HEAD_FROM: u64 = 1 << 19;
const HISTORY_FROM: u64 = (1 << 19) + 100;

impl Recipe {
    /// Write a row of logits.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)] // numbers of 16, 24 and 6 bits
    pub fn write(&self, row: &mut [f32]) {
        let base = self.base();
        let width = row.len() as u64;
        let mut body: Vec<f64> = (0..width).map(|n| bell(splitmix64(base.wrapping_add(n))) * self.scale).collect();
        for j in 0..HEAD {
            let t = splitmix64(base.wrapping_add(HEAD_FROM + j));
            if let Some(logit) = body.get_mut((t % width.max(1)) as usize) {
                *logit += (t >> 40) as f64 / 16_777_216.0 * self.head * (1.0 - j as f64 / 40.0);
            }
        }
        for (to, logit) in row.iter_mut().zip(body) {
            *to = if self.bfloat16 { to_bfloat16(float32(logit)) } else { float32(logit) };
        }
    }

    /// The ids before the first step.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)] // below the width
    pub fn history(&self, count: u64, width: u64) -> Vec<u32> {
        let base = Self { step: 0, ..*self }.base();
        (0..count).map(|k| (splitmix64(base.wrapping_add(HISTORY_FROM + k)) % width.max(1)) as u32).collect()
    }

    const fn base(&self) -> u64 {
        self.seed.wrapping_mul(1_000_003).wrapping_add(self.step) << 20
    }
}

/// The sum of the four u16 of a number, about 0, in units of a half.
#[allow(clippy::cast_precision_loss)] // 16 bits each
fn bell(z: u64) -> f64 {
    let part = |k: u32| ((z >> (16 * k)) & 0xFFFF) as f64;
    ((part(0) + part(1) + part(2) + part(3)) - 131_070.0) / 32_768.0
}

/// `SplitMix64` (Steele, Lea and Flood 2014) of a counter.
#[must_use]
pub const fn splitmix64(counter: u64) -> u64 {
    let z = counter.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// To the nearest bfloat16, ties to even; for finite values.
fn to_bfloat16(value: f32) -> f32 {
    let bits = value.to_bits();
    f32::from_bits(bits.wrapping_add(0x7FFF + ((bits >> 16) & 1)) & 0xFFFF_0000)
}
