//! Tokens by falling weight, equal ones by rising id, as far as they are asked for (contract/sampling.md, S-23).

#![allow(clippy::inline_always)] // loops over these become vector code only where they are inlined

use alloc::vec::Vec;

use super::contract::weigh;
use super::select::Candidates;

/// A token and its weight, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Weighed {
    pub(super) id: u32,
    pub(super) weight: f64,
}

/// Bits of the mantissa that tell the bins of an octave apart.
const BIN_BITS: u32 = 7;
/// 64 octaves; what weighs less than 2^-64 is in the last bin.
const BINS: usize = 64 << BIN_BITS;
/// Below this many it is quicker to sort all of them.
const FEW: usize = 512;

/// Memory to sort in. Tokens are put into bins by weight, and the bins sorted one after the other until the running sum has come
/// as far as it must: of a hundred thousand tokens usually some thousands.
#[derive(Clone)]
pub(super) struct Ordering {
    ids: Vec<u32>,
    weights: Vec<f64>,
    /// The bin of each weight.
    bins: Vec<u16>,
    /// How many weights each bin has, and about how much they are together.
    counts: Vec<(u32, f64)>,
    /// Where each bin ends among `tokens`.
    ends: Vec<u32>,
    tokens: Vec<Weighed>,
    kept: usize,
}

impl Ordering {
    /// With room for a row of which everything survives.
    pub(super) fn with_room(width: usize) -> Self {
        Self {
            ids: Vec::with_capacity(width),
            weights: Vec::with_capacity(width),
            bins: Vec::with_capacity(width),
            counts: Vec::with_capacity(BINS),
            ends: Vec::with_capacity(BINS),
            tokens: Vec::with_capacity(width),
            kept: 0,
        }
    }

    /// Take candidates and weigh them against the greatest score.
    pub(super) fn weigh(&mut self, candidates: &Candidates, greatest: f64) {
        self.ids.clone_from(&candidates.ids);
        weigh(&candidates.scores, greatest, &mut self.weights);
        self.kept = 0;
    }

    /// In the order of the candidates.
    pub(super) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Sort until the running sum exceeds `limit`; how many that takes, all where it never does.
    pub(super) fn sort_past(&mut self, limit: f64) -> usize {
        let mut walk = Walk { limit, sum: 0.0, seen: 0, found: false };
        if self.weights.len() <= FEW {
            self.tokens.clear();
            self.tokens.extend(self.ids.iter().zip(&self.weights).map(|(&id, &weight)| Weighed { id, weight }));
            self.sort_bin(0, self.tokens.len());
            walk.along(&self.tokens);
            return walk.seen;
        }
        self.count();
        let needed = self.bins_for(limit);
        self.gather(needed);
        self.walk_bins(&mut walk, needed);
        if !walk.found && needed < BINS {
            // The estimate was short, by rounding.
            self.gather(BINS);
            walk = Walk { limit, sum: 0.0, seen: 0, found: false };
            self.walk_bins(&mut walk, BINS);
        }
        walk.seen
    }

    /// Sort everything.
    pub(super) fn sort_all(&mut self) -> usize {
        self.sort_past(f64::INFINITY)
    }

    /// The first `count` in order.
    pub(super) fn sorted(&self, count: usize) -> &[Weighed] {
        self.tokens.get(..count).unwrap_or_default()
    }

    /// Remember how many of the sorted stay.
    pub(super) fn keep(&mut self, count: usize) {
        self.kept = count;
    }

    /// Those that stay, in order.
    pub(super) fn kept(&self) -> &[Weighed] {
        self.sorted(self.kept)
    }

    /// Put every weight into its bin.
    fn count(&mut self) {
        self.counts.clear();
        self.counts.resize(BINS, (0, 0.0));
        self.bins.clear();
        self.bins.extend(self.weights.iter().map(|&weight| bin(weight)));
        for (&at, &weight) in self.bins.iter().zip(&self.weights) {
            if let Some((count, mass)) = self.counts.get_mut(usize::from(at)) {
                *count += 1;
                *mass += weight;
            }
        }
    }

    /// How many bins hold the mass, by an estimate.
    fn bins_for(&self, limit: f64) -> usize {
        let mut sum = 0.0;
        let found = self.counts.iter().position(|(_, mass)| {
            sum += mass;
            sum > limit * (1.0 + 1e-9)
        });
        found.map_or(BINS, |at| at + 1)
    }

    /// Put the tokens of the first `bins` bins into `tokens`, bin after bin, each by rising id.
    fn gather(&mut self, bins: usize) {
        self.ends.clear();
        let mut start = 0;
        for (count, _) in self.counts.iter().take(bins) {
            self.ends.push(start);
            start += count;
        }
        self.tokens.clear();
        self.tokens.resize(start as usize, Weighed::default());
        for ((&id, &weight), &at) in self.ids.iter().zip(&self.weights).zip(&self.bins) {
            // The bins that are not asked for have no end.
            if let Some(end) = self.ends.get_mut(usize::from(at)) {
                if let Some(to) = self.tokens.get_mut(*end as usize) {
                    *to = Weighed { id, weight };
                }
                *end += 1;
            }
        }
    }

    /// Sort bin after bin, and walk along each.
    fn walk_bins(&mut self, walk: &mut Walk, bins: usize) {
        let mut start = 0;
        for at in 0..bins {
            let end = self.ends.get(at).map_or(start, |&end| end as usize);
            if end == start {
                continue;
            }
            self.sort_bin(start, end);
            walk.along(self.tokens.get(start..end).unwrap_or_default());
            if walk.found {
                return;
            }
            start = end;
        }
    }

    fn sort_bin(&mut self, start: usize, end: usize) {
        if let Some(bin) = self.tokens.get_mut(start..end) {
            // Weights are not NaN and not negative, so that their bits are in their order.
            bin.sort_unstable_by(|a, b| b.weight.to_bits().cmp(&a.weight.to_bits()).then(a.id.cmp(&b.id)));
        }
    }
}

/// A running sum that stops where it exceeds a limit.
struct Walk {
    limit: f64,
    sum: f64,
    seen: usize,
    found: bool,
}

impl Walk {
    fn along(&mut self, tokens: &[Weighed]) {
        for token in tokens {
            self.sum += token.weight;
            self.seen += 1;
            if self.sum > self.limit {
                self.found = true;
                return;
            }
        }
    }
}

/// The bin of a weight: the greatest weights, which are 1, have 0.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // the least of both is below 2^16
fn bin(weight: f64) -> u16 {
    let distance = 1.0_f64.to_bits().saturating_sub(weight.to_bits()) >> (52 - BIN_BITS);
    if distance < BINS as u64 { distance as u16 } else { BINS as u16 - 1 }
}
