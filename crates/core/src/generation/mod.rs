//! One generation: a sampler and a strict stream decoder, from logits to text, with the reason why it ended (contract/sampling.md,
//! S-80 to S-84).

mod stop_strings;
mod text;

use alloc::string::String;
use alloc::vec::Vec;

use crate::artifact::hex;
use crate::error::Error;
use crate::json::JsonValue;
use crate::sampling::{GenerationConfig, MEANINGLESS_FROM, Numbers, Outcome, Ranked, Sampler, WIDTH};
use crate::tokenizer::{SpecialPolicy, Tokenizer};

pub use text::{EndReason, GeneratedText};

/// Draws ids until something ends it; their text comes as soon as it is complete.
///
/// An id of `stop_ids` ends it and has no text. `FatalError` wins over every limit; a stop id wins over `max_tokens`. It holds no
/// artifact: each call must bring the same artifact's tokenizer.
///
/// ```
/// use slm2_core::sampling::{GenerationConfig, WIDTH};
/// use slm2_core::{Artifact, EndReason, Generation, JsonValue, SpecialPolicy, Tokenizer};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let artifact = Artifact::from_bytes(std::fs::read("../../src/slm2/data/qwen3-0.6b.slm2")?)?;
/// let tokenizer = Tokenizer::new(&artifact);
/// let config = JsonValue::from_json(
///     br#"{"profile": "contract", "temperature": 0.6, "top_k": 20, "top_p": 0.95, "min_p": 0, "repetition_penalty": 1.0,
///          "rng": "pcg32", "seed": 1, "max_tokens": 100, "stop_ids": [151645]}"#,
/// )?;
/// let prompt = [151_644, 872, 198, 9707, 151_645, 198, 151_644, 77_091, 198];
/// let mut generation = Generation::new(GenerationConfig::from_json(&config)?, &prompt, SpecialPolicy::Skip)?;
///
/// // A model that says "Hello" and stops.
/// for token in [9707, 151_645] {
///     let mut logits = vec![0.0; WIDTH];
///     logits[token] = 100.0;
///     generation.step(&tokenizer, &logits, None, 0)?;
/// }
/// assert_eq!(generation.text().text(), "Hello");
/// assert_eq!(generation.text().reason(), Some(EndReason::StopToken));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Generation {
    sampler: Sampler,
    text: GeneratedText,
    profile: &'static str,
}

/// One step of a generation.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The draw.
    pub outcome: Outcome,
    /// What became complete with it; may be empty.
    pub text: String,
    /// Why the generation ended with it; `None` where it goes on.
    pub reason: Option<EndReason>,
}

impl Generation {
    /// Begin, over rows of [`WIDTH`] logits; `prompt` are the ids that the model has seen, `special` says what becomes of ids of special
    /// tokens that do not stop.
    pub fn new(config: GenerationConfig, prompt: &[u32], special: SpecialPolicy) -> Result<Self, Error> {
        Self::with_width(config, prompt, special, WIDTH, MEANINGLESS_FROM)
    }

    /// The same over rows of another width, in which ids from `limit` on have no meaning.
    pub fn with_width(
        config: GenerationConfig,
        prompt: &[u32],
        special: SpecialPolicy,
        width: usize,
        limit: usize,
    ) -> Result<Self, Error> {
        let text = GeneratedText::new(&config, special);
        let profile = config.sampling.report_name();
        let sampler = Sampler::of_width(config.sampling, prompt, config.max_tokens as usize, width, limit)?;
        Ok(Self { sampler, text, profile })
    }

    /// Draw an id and deliver its text, with the arguments of [`Sampler::sample`].
    ///
    /// Its refusals change nothing, so that the step may be tried again; `generation_ended` changes nothing either; `structural_id` and
    /// `token_id_out_of_range` of an id that the stream decoder refuses end the generation without a reason.
    pub fn step(
        &mut self,
        tokenizer: &Tokenizer<'_>,
        logits: &[f32],
        allowed: Option<&[u8]>,
        top: usize,
    ) -> Result<Step, Error> {
        self.text.check_open()?;
        let outcome = self.sampler.sample(logits, allowed, top)?;
        let text = self.text.take(tokenizer, outcome.id)?;
        Ok(Step { outcome, text, reason: self.text.reason() })
    }

    /// The sampler: what it kept, and the state of its generator.
    #[must_use]
    pub const fn sampler(&self) -> &Sampler {
        &self.sampler
    }

    /// The sampler, to advance it, to restore its generator, or to take ids into its history.
    pub fn sampler_mut(&mut self) -> &mut Sampler {
        &mut self.sampler
    }

    /// The text so far, and why it ended.
    #[must_use]
    pub const fn text(&self) -> &GeneratedText {
        &self.text
    }

    /// The generation so far as JSON: `ids`, `text`, `reason`, `stopped_by`, `stop_string`, `pending` (hex), `profile` (with the torch
    /// release where the stream is the publisher's).
    #[must_use]
    pub fn result_to_json(&self) -> String {
        let text = &self.text;
        let members = [
            ("ids", JsonValue::array(text.ids().iter().copied())),
            ("text", text.text().into()),
            ("reason", word(text.reason().map(EndReason::as_str))),
            ("stopped_by", word(text.stopped_by().map(EndReason::as_str))),
            ("stop_string", word(text.stop_string())),
            ("pending", hex(text.pending(), "").into()),
            ("profile", self.profile.into()),
        ];
        JsonValue::object(members).to_json()
    }

    /// A step as JSON: `sample` (see [`Outcome::to_value`]), `text`, `reason`.
    #[must_use]
    pub fn step_to_json(&self, step: &Step) -> String {
        let members = [
            ("sample", step.outcome.to_value(self.sampler.ranked())),
            ("text", step.text.as_str().into()),
            ("reason", word(step.reason.map(EndReason::as_str))),
        ];
        JsonValue::object(members).to_json()
    }
}

impl Outcome {
    /// An object of `id`, `probability`, `log_probability`, `sizes`, `words`, `numbers` and `top`, which is a list of id, probability and
    /// log-probability (null where the probability is 0) of the most probable kept tokens.
    #[must_use]
    pub fn to_value(&self, top: &[Ranked]) -> JsonValue {
        let numbers = match self.numbers {
            Numbers::Greatest => Vec::new(),
            Numbers::Contract { uniform, below, weight, mass } => Vec::from([uniform, below, weight, mass]),
            Numbers::Publisher { variate, ratio } => Vec::from([variate.into(), ratio.into()]),
        };
        let ranked = |token: &Ranked| {
            JsonValue::Array(Vec::from([token.id.into(), number(token.probability), number(token.log_probability)]))
        };
        JsonValue::object([
            ("id", self.id.into()),
            ("probability", number(self.probability)),
            ("log_probability", number(self.log_probability)),
            ("sizes", JsonValue::array(self.sizes)),
            ("words", self.words.into()),
            ("numbers", JsonValue::Array(numbers.into_iter().map(number).collect())),
            ("top", JsonValue::Array(top.iter().map(ranked).collect())),
        ])
    }
}

fn word(text: Option<&str>) -> JsonValue {
    text.map_or(JsonValue::Null, JsonValue::from)
}

/// A number that JSON has; null for another.
fn number(value: f64) -> JsonValue {
    if value.is_finite() { JsonValue::Float(value) } else { JsonValue::Null }
}
