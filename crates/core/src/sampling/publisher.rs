//! Profile `publisher`: what transformers and torch do on a CPU with 16 float32 lanes (contract/sampling.md, S-50 to S-58).
//!
//! A row of torch has all ids, the removed ones as -inf. These have the weight 0, which changes no sum, so that only the survivors
//! are computed; what remains of the rest is their places, which decide the lane of a survivor.

#![allow(clippy::inline_always)] // loops over these become vector code only where they are inlined

use alloc::vec::Vec;

use super::config::SamplingConfig;
use super::contract::size;
use super::generator::Mt19937;
use super::generator::uniform_of_torch;
use super::introsort::{Keyed, sorted_row};
use super::math::{exp, float32, log, log1p};
use super::outcome::{Numbers, Outcome};
use super::select::Candidates;

const LANES: usize = 16;

/// Memory to work in.
#[derive(Clone)]
pub(super) struct Room {
    sorted: Vec<f32>,
    keyed: Vec<Keyed>,
    /// Of the candidates that are left.
    probabilities: Vec<f32>,
}

/// Draw one id of the survivors of `top_k`, of which there is at least one; they are reduced to those that are kept.
pub(super) fn draw(
    candidates: &mut Candidates,
    counted: u32,
    config: &SamplingConfig,
    generator: &mut Mt19937,
    width: usize,
    room: &mut Room,
) -> Outcome {
    let survivors = size(candidates.ids.len());
    if config.top_p < 1.0 {
        top_p(candidates, float32(1.0 - config.top_p), width, room);
    }
    let within_p = size(candidates.ids.len());
    softmax(&candidates.ids, &candidates.scores, width, &mut room.probabilities);
    if config.min_p > 0.0 && min_p(candidates, float32(config.min_p), &room.probabilities) {
        softmax(&candidates.ids, &candidates.scores, width, &mut room.probabilities);
    }
    let chosen = choose(candidates, &room.probabilities, generator, width);
    let probability = f64::from(chosen.probability);
    Outcome {
        id: chosen.id,
        probability,
        log_probability: log(probability),
        sizes: [counted, survivors, within_p, size(candidates.ids.len())],
        words: 2 * size(width),
        numbers: Numbers::Publisher { variate: chosen.variate, ratio: chosen.ratio },
        greatest: 0.0,
        mass: 1.0,
    }
}

impl Room {
    /// With room for a row of which everything survives.
    pub(super) fn with_room(width: usize) -> Self {
        Self {
            sorted: Vec::with_capacity(width),
            keyed: Vec::with_capacity(width),
            probabilities: Vec::with_capacity(width),
        }
    }

    /// Of the kept ids, in their order.
    pub(super) fn probabilities(&self) -> &[f32] {
        &self.probabilities
    }
}

fn greatest(scores: &[f32]) -> f32 {
    scores.iter().copied().fold(f32::NEG_INFINITY, |a, b| if b > a { b } else { a })
}

/// exp rounded from float64 to float32.
#[inline(always)]
fn exp32(distance: f32) -> f32 {
    float32(exp(f64::from(distance)))
}

/// The sum of values at places: lane by place, in order; then halves fold. A row shorter than the lanes is summed in order.
fn lane_sum(values: impl Iterator<Item = (usize, f32)>, width: usize) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    for (place, value) in values {
        let lane = if width < LANES { 0 } else { place % LANES };
        if let Some(lane) = lanes.get_mut(lane) {
            *lane += value;
        }
    }
    let mut half = LANES;
    while half > 1 {
        half /= 2;
        let (low, high) = lanes.split_at_mut(half);
        low.iter_mut().zip(high).for_each(|(low, high)| *low += *high);
    }
    let [sum, ..] = lanes;
    sum
}

/// Probabilities of the ids that are left: exponentials times the reciprocal of their sum.
fn softmax(ids: &[u32], scores: &[f32], width: usize, probabilities: &mut Vec<f32>) {
    let most = greatest(scores);
    probabilities.clear();
    probabilities.extend(scores.iter().map(|&score| exp32(score - most)));
    let sum = lane_sum(ids.iter().map(|&id| id as usize).zip(probabilities.iter().copied()), width);
    let reciprocal = 1.0 / sum;
    for value in probabilities.iter_mut() {
        *value *= reciprocal;
    }
}

/// Rising order; where the mass so far is at most `bound` goes, the last one never does.
fn top_p(candidates: &mut Candidates, bound: f32, width: usize, room: &mut Room) {
    let Room { sorted, keyed, probabilities } = room;
    sorted.clone_from(&candidates.scores);
    sorted.sort_unstable_by(f32::total_cmp);
    let most = greatest(sorted);
    probabilities.clear();
    probabilities.extend(sorted.iter().map(|&score| exp32(score - most)));
    let first = width - sorted.len();
    let reciprocal = 1.0 / lane_sum((first..).zip(probabilities.iter().copied()), width);
    let mut mass = 0.0;
    let removed = probabilities.iter().take(sorted.len() - 1).take_while(|&&value| {
        mass += f64::from(value * reciprocal);
        float32(mass) <= bound
    });
    let cut = removed.count();
    let Some(&boundary) = sorted.get(cut) else { return };
    // Removed ids are -inf, and equal to no survivor.
    let straddled = cut.checked_sub(1).and_then(|before| sorted.get(before)).is_some_and(|&before| before == boundary);
    if straddled {
        sorted_row(&candidates.ids, &candidates.scores, width, keyed);
        keyed.drain(..first + cut);
        keyed.sort_unstable_by_key(|item| item.id);
        candidates.replace(keyed.iter().map(|item| (item.id, item.key)));
    } else {
        candidates.keep(|score| score >= boundary);
    }
}

/// What has less than a share of the greatest probability goes, strictly; the first of the greatest stays. Whether something went.
fn min_p(candidates: &mut Candidates, share: f32, probabilities: &[f32]) -> bool {
    let most = greatest(probabilities);
    let bound = share * most;
    let before = candidates.ids.len();
    // The greatest is not below its own share: rounding keeps the order of share <= 1.
    let mut kept = probabilities.iter();
    candidates.keep(|_| kept.next().is_some_and(|&probability| probability >= bound));
    candidates.ids.len() < before
}

struct Chosen {
    id: u32,
    probability: f32,
    variate: f32,
    ratio: f32,
}

/// The first of the greatest ratios of probability and exponential variate. Logarithms are taken for the kept ids alone.
fn choose(candidates: &Candidates, probabilities: &[f32], generator: &mut Mt19937, width: usize) -> Chosen {
    let mut best = Chosen { id: 0, probability: 0.0, variate: 0.0, ratio: f32::NEG_INFINITY };
    let mut kept = candidates.ids.iter().zip(probabilities);
    let places = candidates.ids.iter().map(|&id| id as usize);
    generator.pairs(width, places, |first, second| {
        let Some((&id, &probability)) = kept.next() else { return };
        let variate = exponential(uniform_of_torch(first, second));
        let ratio = probability / variate;
        if ratio > best.ratio {
            best = Chosen { id, probability, variate, ratio };
        }
    });
    best
}

/// -log(1 - u) rounded from float64; for u = 0, where torch would divide by 0, the smallest normal number.
fn exponential(uniform: f64) -> f32 {
    if uniform == 0.0 { f32::MIN_POSITIVE } else { float32(-log1p(-uniform)) }
}
