//! A sampler: configuration, generator and history; one id for each row of logits.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::config::{MEANINGLESS_FROM, SamplingConfig, Seed, WIDTH};
use super::contract::{self, distance, size};
use super::generator::Generator;
use super::history::History;
use super::math::{float32, log};
use super::order::Ordering;
use super::outcome::{Numbers, Outcome, Ranked};
use super::publisher::{self, Room};
use super::row::{BLOCK, Survey, count, is_invalid, survey};
use super::scores::{change, changes, fell, overflow, sorted_bias};
use super::select::Candidates;
use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::tokenizer::Profile;

/// Of a row; a sampler has no more.
const MOST_LOGITS: usize = 1 << 24;

/// Draws ids. Everything that it works in is reserved when it is made, for the worst row, and kept from step to step: a step allocates
/// nothing, but for the list of the most probable tokens when it grows.
#[derive(Clone)]
pub struct Sampler {
    config: SamplingConfig,
    generator: Generator,
    history: History,
    width: usize,
    /// Ids from here on are out.
    live: usize,
    /// A changed copy of the logits.
    row: Vec<f32>,
    maxima: Vec<f32>,
    candidates: Candidates,
    ordering: Ordering,
    room: Room,
    kept: Vec<u32>,
    ranked: Vec<Ranked>,
}

impl Sampler {
    /// A sampler at the beginning of its stream, over rows of [`WIDTH`] logits.
    ///
    /// `expected` ids are those that will be drawn at most; room for them is made now.
    pub fn new(config: SamplingConfig, prompt: &[u32], expected: usize) -> Result<Self, Error> {
        Self::of_width(config, prompt, expected, WIDTH, MEANINGLESS_FROM)
    }

    /// The same over rows of another width, in which ids from `limit` on have no meaning.
    #[cfg(feature = "conformance")]
    pub fn with_width(
        config: SamplingConfig,
        prompt: &[u32],
        expected: usize,
        width: usize,
        limit: usize,
    ) -> Result<Self, Error> {
        Self::of_width(config, prompt, expected, width, limit)
    }

    pub(crate) fn of_width(
        mut config: SamplingConfig,
        prompt: &[u32],
        expected: usize,
        width: usize,
        limit: usize,
    ) -> Result<Self, Error> {
        if !(1..=MOST_LOGITS).contains(&width) {
            return Err(Error::invalid_value("width", "an integer from 1 to 2^24", &width.to_string()));
        }
        config.check(width)?;
        sorted_bias(&mut config.logit_bias);
        let live = if config.profile == Profile::Contract { limit.min(width) } else { width };
        let torch = matches!(config.seed, Seed::Mt19937Torch { .. });
        let mut sampler = Self {
            generator: Generator::new(&config.seed),
            config,
            history: History::default(),
            width,
            live,
            row: Vec::with_capacity(live),
            maxima: Vec::with_capacity(live.div_ceil(BLOCK)),
            candidates: Candidates::with_room(live),
            ordering: Ordering::with_room(if torch { 0 } else { live }),
            room: Room::with_room(if torch { width } else { 0 }),
            kept: Vec::with_capacity(live),
            ranked: Vec::new(),
        };
        sampler.extend(prompt)?;
        sampler.history.reserve(expected.min(width));
        Ok(sampler)
    }

    /// More ids that the model has seen and the sampler did not draw.
    pub fn extend(&mut self, ids: &[u32]) -> Result<(), Error> {
        let outside = (0_usize..).zip(ids).find(|&(_, &id)| id as usize >= self.width);
        if let Some((position, &id)) = outside {
            let fields = [("position", position.into()), ("id", id.into()), ("limit", self.width.into())];
            return Err(Error::new(ErrorCode::TokenIdOutOfRange, fields));
        }
        for &id in ids {
            self.history.add(id, false);
        }
        Ok(())
    }

    /// Draw an id of a row of logits, and take it into the history; a refusal changes nothing.
    ///
    /// `allowed` has a bit for each id, lowest first. The `top` most probable of the kept ids are at [`Sampler::ranked`] afterwards.
    pub fn sample(&mut self, logits: &[f32], allowed: Option<&[u8]>, top: usize) -> Result<Outcome, Error> {
        self.check_lengths(logits, allowed)?;
        let changed = changes(&self.config, &self.history, allowed);
        let mut found = self.look(logits, changed)?;
        let mut row = core::mem::take(&mut self.row);
        if changed {
            row.clear();
            row.extend(logits.iter().take(self.live));
            let done = change(&mut row, &self.config, &self.history, allowed);
            self.row = row;
            done?;
            row = core::mem::take(&mut self.row);
            found = survey(&row, &mut self.maxima);
        }
        let outcome = self.draw(if changed { &row } else { logits.get(..self.live).unwrap_or_default() }, found);
        self.row = row;
        let outcome = outcome?;
        self.history.add(outcome.id, true);
        self.keep(&outcome, top);
        Ok(outcome)
    }

    fn check_lengths(&self, logits: &[f32], allowed: Option<&[u8]>) -> Result<(), Error> {
        let mismatch = |code, found: usize, expected: usize| {
            Err(Error::new(code, [("found", found.into()), ("expected", expected.into())]))
        };
        if logits.len() != self.width {
            return mismatch(ErrorCode::LogitsLength, logits.len(), self.width);
        }
        let bytes = self.width.div_ceil(8);
        match allowed {
            Some(mask) if mask.len() != bytes => mismatch(ErrorCode::AllowedLength, mask.len(), bytes),
            _ => Ok(()),
        }
    }

    /// Survey a row as it came; what no model may give is refused at any id, also one that is out.
    fn look(&mut self, logits: &[f32], changed: bool) -> Result<Survey, Error> {
        let (live, rest) = logits.split_at(self.live.min(logits.len()));
        let found = survey(live, &mut self.maxima);
        let invalid_live = found.is_suspicious() && count(live, is_invalid) > 0;
        if invalid_live || rest.iter().any(|&logit| is_invalid(logit)) {
            return Err(invalid(logits));
        }
        if found.greatest == f32::NEG_INFINITY && !changed {
            return Err(self.excluded());
        }
        Ok(found)
    }

    fn excluded(&self) -> Error {
        Error::new(ErrorCode::LogitsExcluded, [("width", self.width.into())])
    }

    fn draw(&mut self, row: &[f32], found: Survey) -> Result<Outcome, Error> {
        if found.greatest == f32::NEG_INFINITY {
            return Err(self.excluded());
        }
        if self.config.temperature == 0.0 {
            return Ok(self.greatest(row, found));
        }
        let temperature = float32(self.config.temperature);
        self.check_quotients(row, found, temperature)?;
        let counted = counted(row, found, temperature);
        let k = self.config.top_k;
        if k == 0 || k >= counted {
            self.candidates.take_all(row, temperature, counted as usize == row.len());
        } else {
            self.candidates.take_top(row, &self.maxima, k as usize, temperature);
        }
        if self.candidates.ids.is_empty() {
            return Err(self.excluded()); // profile publisher, where all quotients are -inf
        }
        let Self { config, generator, candidates, ordering, room, width, .. } = self;
        Ok(match generator {
            Generator::Mt19937Torch(twister) => publisher::draw(candidates, counted, config, twister, *width, room),
            _ => contract::draw(candidates, counted, config, generator, ordering),
        })
    }

    /// Temperature 0: the greatest, the lowest id among equal ones; the generator is left alone.
    fn greatest(&self, row: &[f32], found: Survey) -> Outcome {
        let block = self.maxima.iter().position(|&maximum| maximum == found.greatest).unwrap_or_default() * BLOCK;
        let rest = row.get(block..).unwrap_or_default();
        let id = block + rest.iter().position(|&logit| logit == found.greatest).unwrap_or_default();
        Outcome {
            id: size(id),
            probability: 1.0,
            log_probability: 0.0,
            sizes: [counted(row, found, 1.0), 1, 1, 1],
            words: 0,
            numbers: Numbers::Greatest,
            greatest: found.greatest,
            mass: 1.0,
        }
    }

    /// Refuse a row in which a finite logit divides to an infinite one.
    fn check_quotients(&self, row: &[f32], found: Survey, temperature: f32) -> Result<(), Error> {
        if all_stay_finite(row, found, temperature) {
            return Ok(());
        }
        let profile = self.config.profile;
        match row.iter().position(|&logit| fell(logit, logit / temperature, profile)) {
            Some(id) => Err(overflow(size(id), "temperature")),
            None => Ok(()),
        }
    }

    /// Gather the kept ids and the most probable of them.
    fn keep(&mut self, outcome: &Outcome, top: usize) {
        self.kept.clear();
        self.ranked.clear();
        match outcome.numbers {
            Numbers::Greatest => {
                self.kept.push(outcome.id);
                self.ranked.push(Ranked { id: outcome.id, probability: 1.0, log_probability: 0.0 });
            }
            Numbers::Contract { .. } => {
                self.kept.extend(self.ordering.kept().iter().map(|token| token.id));
                let log_mass = log(outcome.mass);
                let best = self.ordering.kept().iter().take(top).map(|token| Ranked {
                    id: token.id,
                    probability: token.weight / outcome.mass,
                    log_probability: distance(&self.candidates, token.id, outcome.greatest) - log_mass,
                });
                self.ranked.extend(best);
            }
            Numbers::Publisher { .. } => {
                self.kept.extend(&self.candidates.ids);
                self.rank(top);
            }
        }
        self.ranked.truncate(top);
    }

    /// The greatest probabilities of profile `publisher`, in order: most tokens are below them all.
    fn rank(&mut self, top: usize) {
        for (&id, &probability) in self.candidates.ids.iter().zip(self.room.probabilities()) {
            let probability = f64::from(probability);
            let at = self.ranked.iter().rposition(|ranked| ranked.probability >= probability).map_or(0, |at| at + 1);
            if at < top {
                self.ranked.truncate(top - 1);
                let log_probability = if probability > 0.0 { log(probability) } else { f64::NEG_INFINITY };
                self.ranked.insert(at, Ranked { id, probability, log_probability });
            }
        }
    }

    /// The ids that the last step kept, in no order that means anything.
    #[must_use]
    pub fn kept(&self) -> &[u32] {
        &self.kept
    }

    /// The most probable of them, as many as the last step was asked for; equal ones by rising id.
    #[must_use]
    pub fn ranked(&self) -> &[Ranked] {
        &self.ranked
    }

    /// The generator, to save it.
    #[must_use]
    pub fn generator(&self) -> &Generator {
        &self.generator
    }

    /// The generator, to advance or restore it.
    pub fn generator_mut(&mut self) -> &mut Generator {
        &mut self.generator
    }
}

/// How many ids of a row are left before `top_k`: those whose quotient is above -inf.
fn counted(row: &[f32], found: Survey, temperature: f32) -> u32 {
    if (found.magnitude / temperature).is_finite() {
        return size(row.len());
    }
    if all_stay_finite(row, found, temperature) {
        return count(row, |logit| logit > f32::NEG_INFINITY);
    }
    count(row, |logit| logit / temperature > f32::NEG_INFINITY)
}

/// Whether no finite logit divides to an infinite one; no where it is close.
fn all_stay_finite(row: &[f32], found: Survey, temperature: f32) -> bool {
    if temperature >= 1.0 || (found.magnitude / temperature).is_finite() {
        return true; // nor does any smaller one
    }
    // An infinity hides the greatest finite magnitude: is one of these near the end of the range?
    let bound = f32::MAX * temperature * 0.999;
    let (low, high) = (bound.to_bits(), f32::INFINITY.to_bits());
    count(row, |logit| (low..high).contains(&(logit.to_bits() & 0x7FFF_FFFF))) == 0
}

fn invalid(logits: &[f32]) -> Error {
    let (id, logit) = logits.iter().copied().enumerate().find(|&(_, logit)| is_invalid(logit)).unwrap_or_default();
    let found = if logit.is_nan() { "NaN" } else { "Infinity" };
    Error::new(ErrorCode::LogitsInvalid, [("id", id.into()), ("found", String::from(found).into())])
}
