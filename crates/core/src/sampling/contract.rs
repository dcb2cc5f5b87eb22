//! Profile `contract`: float64 weights, never divided, in a total order (contract/sampling.md, S-20 to S-26; decisions D8).

use alloc::vec::Vec;

use super::config::SamplingConfig;
use super::generator::Generator;
use super::math::{exp, log};
use super::order::{Ordering, Weighed};
use super::outcome::{Numbers, Outcome};
use super::select::Candidates;

const LANES: usize = 8;

/// Draw one id of the survivors of `top_k`, of which there is at least one.
pub(super) fn draw(
    candidates: &Candidates,
    counted: u32,
    config: &SamplingConfig,
    generator: &mut Generator,
    ordering: &mut Ordering,
) -> Outcome {
    let greatest = candidates.scores.iter().copied().fold(f32::NEG_INFINITY, |a, b| if b > a { b } else { a });
    ordering.weigh(candidates, f64::from(greatest));
    let total = lane_total(&candidates.ids, ordering.weights());
    let within_p = if config.top_p < 1.0 { ordering.sort_past(config.top_p * total) } else { ordering.sort_all() };
    let kept = cut_min_p(ordering.sorted(within_p), config.min_p);
    ordering.keep(kept);

    let uniform = generator.uniform();
    let chosen = choose(ordering.kept(), uniform);
    Outcome {
        id: chosen.token.id,
        probability: chosen.token.weight / chosen.mass,
        log_probability: distance(candidates, chosen.token.id, greatest) - log(chosen.mass),
        sizes: [counted, size(candidates.ids.len()), size(within_p), size(kept)],
        words: 2,
        numbers: Numbers::Contract { uniform, below: chosen.below, weight: chosen.token.weight, mass: chosen.mass },
        greatest,
        mass: chosen.mass,
    }
}

/// How far the score of an id lies below the greatest: 0.0 for -0.0 below 0.0 too.
pub(super) fn distance(candidates: &Candidates, id: u32, greatest: f32) -> f64 {
    let at = candidates.ids.binary_search(&id).unwrap_or_default();
    candidates.scores.get(at).map_or(0.0, |&score| f64::from(score) - f64::from(greatest) + 0.0)
}

/// exp of the distances from the greatest.
pub(super) fn weigh(scores: &[f32], greatest: f64, weights: &mut Vec<f64>) {
    weights.clear();
    weights.extend(scores.iter().map(|&score| exp(f64::from(score) - greatest)));
}

/// The sum in 8 lanes, id mod 8, each in rising id, folded in halves.
#[allow(clippy::many_single_char_names)]
fn lane_total(ids: &[u32], weights: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    if ids.last().is_some_and(|&last| last as usize + 1 == ids.len()) {
        // No id is missing: whole rows of lanes, which become vector code.
        for part in weights.chunks(LANES) {
            lanes.iter_mut().zip(part).for_each(|(lane, &weight)| *lane += weight);
        }
    } else {
        for (&id, &weight) in ids.iter().zip(weights) {
            if let Some(lane) = lanes.get_mut(id as usize % LANES) {
                *lane += weight;
            }
        }
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// How many of the sorted have at least `min_p` of the greatest weight, which is 1.
fn cut_min_p(sorted: &[Weighed], min_p: f64) -> usize {
    sorted.partition_point(|token| token.weight >= min_p)
}

/// The first token at which the running sum exceeds its share of the mass.
struct Chosen {
    token: Weighed,
    below: f64,
    mass: f64,
}

fn choose(kept: &[Weighed], uniform: f64) -> Chosen {
    let mass = kept.iter().fold(0.0, |sum, token| sum + token.weight);
    let target = uniform * mass;
    let mut chosen = Chosen { token: Weighed::default(), below: 0.0, mass };
    let mut sum = 0.0;
    for &token in kept {
        (chosen.token, chosen.below) = (token, sum);
        sum += token.weight;
        if sum > target {
            break;
        }
    }
    chosen
}

#[allow(clippy::cast_possible_truncation)] // of a row, whose ids are u32
pub(super) fn size(count: usize) -> u32 {
    count as u32
}
