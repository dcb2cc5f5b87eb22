//! Whatever changes a row before the temperature: exclusions, penalties, bias (contract/sampling.md, S-11 to S-16).
//!
//! All of it is float32, one rounding an operation. A row that nothing changes is never copied.

use alloc::string::String;
use alloc::vec::Vec;

use super::config::SamplingConfig;
use super::history::{History, Seen};
use super::math::float32;
use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::tokenizer::Profile;

/// Whether a row must be copied and changed.
pub(super) fn changes(config: &SamplingConfig, history: &History, allowed: Option<&[u8]>) -> bool {
    let penalised = float32(config.repetition_penalty) != 1.0 && !history.is_empty();
    let offset = offsets(config) && history.seen().any(|seen| seen.drawn > 0);
    penalised || offset || allowed.is_some() || !config.banned_ids.is_empty() || !config.logit_bias.is_empty()
}

/// Change a copy of a row.
pub(super) fn change(
    row: &mut [f32],
    config: &SamplingConfig,
    history: &History,
    allowed: Option<&[u8]>,
) -> Result<(), Error> {
    if let Some(mask) = allowed {
        exclude_unset(row, mask);
    }
    for &id in &config.banned_ids {
        if let Some(logit) = row.get_mut(id as usize) {
            *logit = f32::NEG_INFINITY;
        }
    }
    let profile = config.profile;
    let penalty = float32(config.repetition_penalty);
    if penalty != 1.0 {
        let penalised = |_: Seen, logit: f32| if logit < 0.0 { logit * penalty } else { logit / penalty };
        set(row, history.seen(), profile, "repetition_penalty", penalised)?;
    }
    if offsets(config) {
        let (presence, frequency) = (float32(config.presence_penalty), float32(config.frequency_penalty));
        #[allow(clippy::cast_precision_loss)] // rounded to float32, as the page says
        let offset = |seen: Seen, logit: f32| {
            if logit == f32::NEG_INFINITY { logit } else { (logit - frequency * seen.drawn as f32) - presence }
        };
        set(row, history.seen().filter(|seen| seen.drawn > 0), profile, "presence_penalty", offset)?;
    }
    let biased = config.logit_bias.iter().map(|&(id, _)| Seen { id, drawn: 0 });
    let mut summands = config.logit_bias.iter().map(|&(_, bias)| float32(bias)).cycle();
    set(row, biased, profile, "logit_bias", |_, logit| logit + summands.next().unwrap_or_default())
}

fn offsets(config: &SamplingConfig) -> bool {
    config.presence_penalty != 0.0 || config.frequency_penalty != 0.0
}

/// A bit for each id, lowest first.
fn exclude_unset(row: &mut [f32], mask: &[u8]) {
    for (logits, &bits) in row.chunks_mut(8).zip(mask) {
        match bits {
            0 => logits.fill(f32::NEG_INFINITY),
            u8::MAX => {}
            _ => {
                for (at, logit) in logits.iter_mut().enumerate() {
                    *logit = if bits >> at & 1 == 0 { f32::NEG_INFINITY } else { *logit };
                }
            }
        }
    }
}

/// Give some ids, which rise, another logit; a finite one must not become infinite.
fn set(
    row: &mut [f32],
    ids: impl Iterator<Item = Seen>,
    profile: Profile,
    operation: &'static str,
    mut value: impl FnMut(Seen, f32) -> f32,
) -> Result<(), Error> {
    for seen in ids {
        if let Some(logit) = row.get_mut(seen.id as usize) {
            let after = value(seen, *logit);
            if fell(*logit, after, profile) {
                return Err(overflow(seen.id, operation));
            }
            *logit = after;
        }
    }
    Ok(())
}

/// Whether a finite value became infinite; torch goes on with -inf, so that profile `publisher` does.
pub(super) fn fell(before: f32, after: f32, profile: Profile) -> bool {
    before.is_finite() && if profile == Profile::Contract { after.is_infinite() } else { after == f32::INFINITY }
}

/// `logits_overflow`.
pub(super) fn overflow(id: u32, operation: &'static str) -> Error {
    Error::new(ErrorCode::LogitsOverflow, [("id", id.into()), ("operation", String::from(operation).into())])
}

/// The bias of each id once, rising; of an id that is there twice the last counts.
pub(super) fn sorted_bias(bias: &mut Vec<(u32, f64)>) {
    bias.reverse();
    bias.sort_by_key(|&(id, _)| id);
    bias.dedup_by_key(|&mut (id, _)| id);
}
