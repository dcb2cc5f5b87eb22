//! `top_k`: the candidates of a row whose score is at least the k-th greatest (contract/sampling.md, S-18).

use alloc::vec::Vec;

use super::math::float32;
use super::row::BLOCK;

/// Up to here the k greatest are kept in order.
const FEW: usize = 64;

/// Ids with their scores, by rising id, and room to work in.
#[derive(Clone)]
pub(super) struct Candidates {
    pub(super) ids: Vec<u32>,
    pub(super) scores: Vec<f32>,
    room: Vec<f32>,
}

impl Candidates {
    /// With room for a row of which everything survives.
    pub(super) fn with_room(width: usize) -> Self {
        Self { ids: Vec::with_capacity(width), scores: Vec::with_capacity(width), room: Vec::with_capacity(width) }
    }

    /// Take the survivors of `top_k` of a row; their scores are divided by the temperature. `k` is not 0.
    ///
    /// `maxima` are the greatest logits of the blocks. The k-th greatest of them is no greater than the k-th greatest logit: only
    /// what divides to at least its quotient can survive, and only blocks that reach it are read again.
    pub(super) fn take_top(&mut self, row: &[f32], maxima: &[f32], k: usize, temperature: f32) {
        let bound =
            self.kth_greatest(maxima.iter().copied(), k).map_or(f32::NEG_INFINITY, |kth| before(kth, temperature));
        self.ids.clear();
        self.scores.clear();
        for (block, (logits, &greatest)) in row.chunks(BLOCK).zip(maxima).enumerate() {
            if greatest >= bound {
                self.take(logits, block * BLOCK, bound, temperature);
            }
        }
        let scores = core::mem::take(&mut self.scores);
        let kth = self.kth_greatest(scores.iter().copied(), k);
        self.scores = scores;
        if let Some(kth) = kth {
            self.keep(|score| score >= kth);
        }
    }

    /// Take all that is above -inf; scores are divided by the temperature. `finite`: all of it is.
    #[allow(clippy::cast_possible_truncation)] // ids of a row are u32
    pub(super) fn take_all(&mut self, row: &[f32], temperature: f32, finite: bool) {
        self.ids.clear();
        self.scores.clear();
        if finite {
            self.ids.extend(0..row.len() as u32);
            self.scores.extend(row.iter().map(|&logit| logit / temperature));
        } else {
            self.take(row, 0, f32::NEG_INFINITY, temperature);
        }
    }

    #[allow(clippy::cast_possible_truncation)] // ids of a row are u32
    fn take(&mut self, logits: &[f32], first: usize, bound: f32, temperature: f32) {
        for (id, &logit) in (first as u32..).zip(logits) {
            if logit >= bound {
                let score = logit / temperature;
                if score > f32::NEG_INFINITY {
                    self.ids.push(id);
                    self.scores.push(score);
                }
            }
        }
    }

    /// Keep what a condition holds for; it is asked once for each, in order.
    pub(super) fn keep(&mut self, mut condition: impl FnMut(f32) -> bool) {
        let mut count = 0;
        for at in 0..self.ids.len() {
            if self.scores.get(at).is_some_and(|&score| condition(score)) {
                self.ids.swap(count, at);
                self.scores.swap(count, at);
                count += 1;
            }
        }
        self.ids.truncate(count);
        self.scores.truncate(count);
    }

    /// Take others, which rise.
    pub(super) fn replace(&mut self, others: impl Iterator<Item = (u32, f32)>) {
        self.ids.clear();
        self.scores.clear();
        for (id, score) in others {
            self.ids.push(id);
            self.scores.push(score);
        }
    }

    /// The k-th greatest of some values; `None` where there are not more than k of them.
    fn kth_greatest(&mut self, values: impl Iterator<Item = f32>, k: usize) -> Option<f32> {
        self.room.clear();
        if k <= FEW {
            return self.kth_of_few(values, k);
        }
        self.room.extend(values);
        if self.room.len() <= k || k == 0 {
            return None;
        }
        let (_, kth, _) = self.room.select_nth_unstable_by(k - 1, |a, b| b.total_cmp(a));
        Some(*kth)
    }

    /// The same, with the k greatest so far in order: most values are below them all.
    fn kth_of_few(&mut self, values: impl Iterator<Item = f32>, k: usize) -> Option<f32> {
        let mut count = 0;
        let mut least = f32::NEG_INFINITY;
        for value in values {
            count += 1;
            if self.room.len() == k {
                if value <= least {
                    continue;
                }
                self.room.pop();
            }
            let at = self.room.iter().rposition(|&greater| greater >= value).map_or(0, |at| at + 1);
            self.room.insert(at, value);
            least = self.room.last().copied().unwrap_or(least);
        }
        self.room.last().copied().filter(|_| count > k)
    }
}

/// A number so far below `logit` that whatever lies under it divides to less.
///
/// Where a quotient is normal, equal quotients lie within 2^-22 of each other; where it is subnormal, within T * 2^-148. The
/// factors here are twice as large, and so cover the rounding of the sum.
fn before(logit: f32, temperature: f32) -> f32 {
    const RELATIVE: f64 = 1.0 / 2_097_152.0;
    // 2^-146
    const ABSOLUTE: f64 = f64::from_bits((1023 - 146) << 52);
    if temperature == 1.0 || logit == f32::NEG_INFINITY {
        return logit;
    }
    let exact = f64::from(logit);
    let slack = if exact < 0.0 { -exact } else { exact } * RELATIVE + f64::from(temperature) * ABSOLUTE;
    let bound = float32(exact - slack);
    if bound < logit { bound } else { logit }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the selection is: divide all, sort all, compare with the k-th.
    fn plainly(row: &[f32], k: usize, temperature: f32) -> Vec<(u32, u32)> {
        let divided: Vec<f32> = row.iter().map(|x| x / temperature).collect();
        let mut sorted: Vec<f32> = divided.iter().copied().filter(|&x| x > f32::NEG_INFINITY).collect();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let kth = if sorted.len() > k { sorted[k - 1] } else { f32::NEG_INFINITY };
        let live = (0..).zip(divided).filter(|&(_, x)| x >= kth && x > f32::NEG_INFINITY);
        live.map(|(id, x)| (id, x.to_bits())).collect()
    }

    #[test]
    fn survivors_are_those_of_dividing_and_sorting_everything() {
        let mut state = 7_u64;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32
        };
        let mut maxima = Vec::new();
        let mut candidates = Candidates::with_room(0);
        let mut merged = 0;
        for round in 0..3_000_u32 {
            let length = 1 + next() as usize % 3_000;
            let temperature = [0.6_f32, 0.7, 1.0, 1.3, 1e-3, 3e8, f32::MIN_POSITIVE, 1e30][round as usize % 8];
            let base = [1.0_f32, -1.0, 1e-40, -1e-39, 3e5][next() as usize % 5] * temperature.min(1.0);
            // Neighbouring floats, which a division merges, beside values all over the range.
            let row: Vec<f32> = (0..length)
                .map(|_| match next() % 4 {
                    0 => f32::NEG_INFINITY,
                    1 => f32::from_bits(base.to_bits() ^ (next() & 3)),
                    2 => f32::from_bits(base.to_bits().wrapping_add(next() % 64)),
                    _ => base * f32::from(u16::try_from(next() % 1000).expect("small")) / 1000.0 - base,
                })
                .collect();
            let k = 1 + next() as usize % 60;
            crate::sampling::row::survey(&row, &mut maxima);
            candidates.take_top(&row, &maxima, k, temperature);
            let found: Vec<_> =
                candidates.ids.iter().copied().zip(candidates.scores.iter().map(|x| x.to_bits())).collect();
            assert_eq!(found, plainly(&row, k, temperature), "round {round} k {k} temperature {temperature}");
            merged += usize::from(found.len() > k);
        }
        assert!(merged > 1000);
    }
}
