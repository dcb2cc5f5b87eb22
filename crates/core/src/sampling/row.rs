//! One pass over a row of logits, at the speed of memory: what is in it, and the greatest of each block.

use alloc::vec::Vec;

/// Logits of a block. The greatest of each is kept, so that a second pass reads only the blocks that can hold what is wanted.
pub(super) const BLOCK: usize = 128;

/// What the pass found.
#[derive(Clone, Copy)]
pub(super) struct Survey {
    /// -inf where there is nothing greater.
    pub(super) greatest: f32,
    /// The greatest magnitude: infinite where an infinity is there, NaN where a NaN is.
    pub(super) magnitude: f32,
}

impl Survey {
    /// Whether there may be a NaN or +inf; -inf raises the suspicion too.
    pub(super) fn is_suspicious(self) -> bool {
        !self.magnitude.is_finite()
    }
}

/// Look at a row; the greatest of each block goes to `maxima`.
pub(super) fn survey(row: &[f32], maxima: &mut Vec<f32>) -> Survey {
    maxima.clear();
    maxima.resize(row.len().div_ceil(BLOCK), f32::NEG_INFINITY);
    let magnitude = f32::from_bits(pass(row, maxima));
    let greatest = maxima.iter().copied().fold(f32::NEG_INFINITY, |a, b| if b > a { b } else { a });
    Survey { greatest, magnitude }
}

#[cfg(feature = "simd")]
use slm2_simd::survey as pass;

/// The greatest of each block, and the bits of the greatest magnitude.
#[cfg(not(feature = "simd"))]
fn pass(row: &[f32], maxima: &mut [f32]) -> u32 {
    let mut magnitude = 0;
    for (block, to) in row.chunks(BLOCK).zip(maxima) {
        *to = block.iter().fold(f32::NEG_INFINITY, |a, &b| if b > a { b } else { a });
        magnitude = block.iter().fold(magnitude, |most, x| most.max(x.to_bits() & 0x7FFF_FFFF));
    }
    magnitude
}

/// How many logits have a property, which must be cheap to ask: a block at a time without a branch, so that it becomes vector code.
pub(super) fn count(row: &[f32], property: impl Fn(f32) -> bool) -> u32 {
    row.chunks(BLOCK).map(|block| block.iter().map(|&logit| u32::from(property(logit))).sum::<u32>()).sum()
}

/// NaN and +inf, which no model may give.
pub(super) fn is_invalid(x: f32) -> bool {
    x.is_nan() || x == f32::INFINITY
}
