//! One pass over a row of float32. Each function has a plain twin in [`plain`]; a test compares both. The code of both is the same: the
//! wide one is compiled for registers that must be asked for.

/// Logits of a block, whose greatest is kept.
pub const BLOCK: usize = 128;

/// The greatest value of each block of [`BLOCK`] values of a row goes to `maxima`, which has a place for each; -inf where a block has
/// nothing greater. NaN counts for nothing there.
///
/// Returns the bits of the greatest magnitude: above `0x7F80_0000` where the row has a NaN, equal to it where it has an infinity.
#[must_use]
pub fn survey(row: &[f32], maxima: &mut [f32]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if let Some(magnitude) = crate::x86::survey(row, maxima) {
        return magnitude;
    }
    plain::survey(row, maxima)
}

/// The plain twins.
#[allow(clippy::inline_always)] // what is not inlined is not compiled for the wide registers
pub mod plain {
    use super::BLOCK;

    /// Accumulators beside each other: two registers of eight.
    const LANES: usize = 32;

    /// See [`crate::survey`].
    #[inline(always)]
    #[must_use]
    pub fn survey(row: &[f32], maxima: &mut [f32]) -> u32 {
        let mut magnitudes = [0_u32; LANES];
        for (block, to) in row.chunks(BLOCK).zip(maxima) {
            *to = block_maximum(block, &mut magnitudes);
        }
        magnitudes.into_iter().fold(0, u32::max)
    }

    #[inline(always)]
    fn block_maximum(block: &[f32], magnitudes: &mut [u32; LANES]) -> f32 {
        let mut greatest = [f32::NEG_INFINITY; LANES];
        let mut look = |part: &[f32]| {
            for ((&x, most), magnitude) in part.iter().zip(&mut greatest).zip(magnitudes.iter_mut()) {
                *most = if x > *most { x } else { *most };
                let bits = x.to_bits() & 0x7FFF_FFFF;
                *magnitude = if bits > *magnitude { bits } else { *magnitude };
            }
        };
        let parts = block.chunks_exact(LANES);
        let rest = parts.remainder();
        parts.for_each(&mut look);
        look(rest);
        // Halves against each other, so that these are wide too.
        let mut half = LANES / 2;
        while half > 0 {
            let (low, high) = greatest.split_at_mut(half);
            low.iter_mut().zip(high).for_each(|(a, b)| *a = if *b > *a { *b } else { *a });
            half /= 2;
        }
        let [most, ..] = greatest;
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;
    use std::vec::Vec;

    fn rows() -> Vec<Vec<f32>> {
        let mut state = 1_u64;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            u32::try_from(state >> 32).unwrap_or_default()
        };
        let hostile = [
            f32::NAN,
            -f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            0.0,
            -0.0,
            f32::MIN_POSITIVE,
            1e-45,
            f32::MAX,
            f32::MIN,
        ];
        (0..3_000)
            .map(|round| {
                (0..next() % 700)
                    .map(|_| match (round % 3, next()) {
                        (0, bits) => f32::from_bits(bits),
                        (1, bits) => hostile[bits as usize % hostile.len()],
                        (_, bits) => f32::from_bits(0x3F80_0000 | bits >> 9) - 1.5,
                    })
                    .collect()
            })
            .collect()
    }

    /// What the survey is, one value after the other.
    fn slowly(row: &[f32]) -> (u32, Vec<u32>) {
        let greatest = |block: &[f32]| {
            block.iter().copied().filter(|x| !x.is_nan()).fold(f32::NEG_INFINITY, |a, b| if b > a { b } else { a })
        };
        let magnitude = row.iter().map(|x| x.to_bits() & 0x7FFF_FFFF).max().unwrap_or(0);
        (magnitude, row.chunks(BLOCK).map(|block| greatest(block).to_bits() & signless(greatest(block))).collect())
    }

    /// Zeros of both signs are equal; which of them is the greatest is not said.
    fn signless(x: f32) -> u32 {
        if x == 0.0 { 0 } else { u32::MAX }
    }

    #[test]
    fn wide_and_plain_see_what_is_there() {
        for row in rows() {
            let mut maxima = vec![0.0; row.len().div_ceil(BLOCK)];
            let wanted = slowly(&row);
            for survey in [survey, plain::survey] {
                let magnitude = survey(&row, &mut maxima);
                let found = maxima.iter().map(|x| x.to_bits() & signless(*x)).collect();
                assert_eq!((magnitude, found), wanted);
            }
        }
    }
}
