//! Logits to ids (contract/sampling.md).

use slm2_core::Error;
use slm2_core::sampling::{GenerationConfig, Generator, Numbers, Outcome, Sampler as CoreSampler, Seed};

use crate::context::{Context, Status, call};
use crate::contract::{Contract, json};
use crate::memory::{free, fresh, put, put_handle, shared, slice, unique, usable};

/// A configuration, a generator and a history. Made with [`slm2_sampler_new`].
// So that a generation can show its own; said in a way that leaves it opaque in the header.
#[cfg_attr(all(), repr(transparent))]
pub struct Sampler(CoreSampler);

/// A generator by itself. Made with [`slm2_generator_new`].
pub struct Random(Generator);

/// One draw: fields of 8 bytes each, so that no host needs to know about padding.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// The token.
    pub id: u64,
    /// How many 32-bit words the step took from the generator.
    pub words: u64,
    /// How many ids were left before `top_k`, after it, after `top_p`, after `min_p`.
    pub sizes: [u64; 4],
    /// Of the token, among the kept ones.
    pub probability: f64,
    /// Its natural logarithm.
    pub log_probability: f64,
    /// How many of the numbers there are: 0 at temperature 0, 4 in profile `contract`, 2 in profile `publisher`.
    pub number_count: u64,
    /// What decided, for audits (S-62).
    pub numbers: [f64; 4],
}

/// A kept token.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Ranked {
    /// The token.
    pub id: u64,
    /// Among the kept ones.
    pub probability: f64,
    /// Its natural logarithm.
    pub log_probability: f64,
}

/// Logits of a row of Qwen3-0.6B.
pub const SLM2_WIDTH: usize = 151_936;

impl Sample {
    pub(crate) fn of(outcome: &Outcome) -> Self {
        let (number_count, numbers) = match outcome.numbers {
            Numbers::Greatest => (0, [0.0; 4]),
            Numbers::Contract { uniform, below, weight, mass } => (4, [uniform, below, weight, mass]),
            Numbers::Publisher { variate, ratio } => (2, [variate.into(), ratio.into(), 0.0, 0.0]),
        };
        Self {
            id: outcome.id.into(),
            words: outcome.words.into(),
            sizes: outcome.sizes.map(u64::from),
            probability: outcome.probability,
            log_probability: outcome.log_probability,
            number_count,
            numbers,
        }
    }
}

/// A sampler at the beginning of its stream, of a configuration in JSON (all fields of contract/sampling.md), the ids that the model
/// has seen, and the number of logits of a row ([`SLM2_WIDTH`] but in tests).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_sampler_new(
    context: *mut Context, contract: *const Contract, config: *const u8, length: usize, prompt: *const u32, count: usize, width: usize,
    sampler: *mut *mut Sampler,
) -> Status {
    let made = || unsafe {
        let limit = shared(contract, "contract")?.0.token_limit() as usize;
        let config = GenerationConfig::from_json(&json(config, length, "config")?)?;
        let expected = config.max_tokens as usize;
        CoreSampler::with_width(config.sampling, slice(prompt, count, "prompt")?, expected, width, limit).map(Sampler)
    };
    unsafe { call(context, |_| put_handle(sampler, made())) }
}

/// Free it; NULL is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_sampler_free(sampler: *mut Sampler) {
    unsafe { free(sampler) }
}

/// Draw an id of a row of logits and take it into the history; a refusal changes nothing.
///
/// `allowed` has a bit for each id, lowest first, or is NULL. The `top` most probable of the kept ids are at [`slm2_sampler_top`]
/// afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_sampler_sample(
    context: *mut Context, sampler: *mut Sampler, logits: *const f32, width: usize, allowed: *const u8, allowed_length: usize, top: usize,
    sample: *mut Sample,
) -> Status {
    let work = |_: &mut Context| unsafe {
        let (sampler, logits) = (unique(sampler, "sampler")?, slice(logits, width, "logits")?);
        let mask = slice(allowed, allowed_length, "allowed")?;
        usable(sample, "sample")?;
        let outcome = sampler.0.sample(logits, (!allowed.is_null()).then_some(mask), top)?;
        put(sample, "sample", Sample::of(&outcome))
    };
    unsafe { call(context, work) }
}

/// The most probable ids of the last step, as many as it was asked for; equal ones by rising id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_sampler_top(
    context: *mut Context, sampler: *const Sampler, top: *mut Ranked, capacity: usize, count: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let ranked = shared(sampler, "sampler")?.0.ranked().iter();
        let row = |token: &slm2_core::sampling::Ranked| Ranked {
            id: token.id.into(),
            probability: token.probability,
            log_probability: token.log_probability,
        };
        context.give(ranked.map(row).collect(), top, capacity, count)
    };
    unsafe { call(context, work) }
}

/// The ids that the last step kept, rising; none before the first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_sampler_kept(
    context: *mut Context, sampler: *const Sampler, ids: *mut u32, capacity: usize, count: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let mut kept = shared(sampler, "sampler")?.0.kept().to_vec();
        kept.sort_unstable();
        context.give(kept, ids, capacity, count)
    };
    unsafe { call(context, work) }
}

/// Take ids into the history that the model has seen and this sampler did not draw (`token_id_out_of_range`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_sampler_extend(context: *mut Context, sampler: *mut Sampler, ids: *const u32, count: usize) -> Status {
    unsafe { call(context, |_| unique(sampler, "sampler")?.0.extend(slice(ids, count, "ids")?)) }
}

/// How many words were taken since the seed: the low 64 bits, then the high ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_sampler_position(context: *mut Context, sampler: *const Sampler, position: *mut u64) -> Status {
    unsafe { call(context, |_| put_position(position, shared(sampler, "sampler")?.0.generator())) }
}

/// Go on as if so many words had been taken.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_sampler_advance(context: *mut Context, sampler: *mut Sampler, words: u64) -> Status {
    unsafe { call(context, |_| unique(sampler, "sampler")?.0.generator_mut().advance(words)) }
}

/// The state of the generator, to be kept as it is (S-35). The history is not in it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_sampler_state(
    context: *mut Context, sampler: *const Sampler, state: *mut u8, capacity: usize, length: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let saved = shared(sampler, "sampler")?.0.generator().state();
        context.give(saved, state, capacity, length)
    };
    unsafe { call(context, work) }
}

/// Go on from a saved state of a generator of the same kind (`generator_state`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_sampler_restore(context: *mut Context, sampler: *mut Sampler, state: *const u8, length: usize) -> Status {
    unsafe { call(context, |_| unique(sampler, "sampler")?.0.generator_mut().restore(slice(state, length, "state")?)) }
}

/// A generator of JSON: `rng`, `seed` and, where it is not 0, `stream`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_generator_new(context: *mut Context, seed: *const u8, length: usize, generator: *mut *mut Random) -> Status {
    let made = || unsafe { Ok(Random(Generator::new(&Seed::from_json(&json(seed, length, "seed")?)?))) };
    unsafe { call(context, |_| put_handle(generator, made())) }
}

/// Free it; NULL is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_generator_free(generator: *mut Random) {
    unsafe { free(generator) }
}

/// The next words, `count` of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_generator_words(context: *mut Context, generator: *mut Random, words: *mut u32, count: usize) -> Status {
    let work = |_: &mut Context| unsafe {
        let generator = unique(generator, "generator")?;
        fresh(words, count, "words")?.iter_mut().for_each(|word| *word = generator.0.word());
        Ok(())
    };
    unsafe { call(context, work) }
}

/// A multiple of 2^-53 in [0, 1), from two words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_generator_uniform(context: *mut Context, generator: *mut Random, uniform: *mut f64) -> Status {
    let work = |_: &mut Context| unsafe {
        usable(uniform, "uniform")?;
        put(uniform, "uniform", unique(generator, "generator")?.0.uniform())
    };
    unsafe { call(context, work) }
}

/// As [`slm2_sampler_position`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_generator_position(context: *mut Context, generator: *const Random, position: *mut u64) -> Status {
    unsafe { call(context, |_| put_position(position, &shared(generator, "generator")?.0)) }
}

/// As [`slm2_sampler_advance`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_generator_advance(context: *mut Context, generator: *mut Random, words: u64) -> Status {
    unsafe { call(context, |_| unique(generator, "generator")?.0.advance(words)) }
}

/// As [`slm2_sampler_state`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_generator_state(
    context: *mut Context, generator: *const Random, state: *mut u8, capacity: usize, length: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let saved = shared(generator, "generator")?.0.state();
        context.give(saved, state, capacity, length)
    };
    unsafe { call(context, work) }
}

/// As [`slm2_sampler_restore`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_generator_restore(context: *mut Context, generator: *mut Random, state: *const u8, length: usize) -> Status {
    unsafe { call(context, |_| unique(generator, "generator")?.0.restore(slice(state, length, "state")?)) }
}

unsafe fn put_position(address: *mut u64, generator: &Generator) -> Result<(), Error> {
    let position = generator.position();
    let halves = unsafe { fresh(address, 2, "position") }?;
    for (half, shift) in halves.iter_mut().zip([0, 64]) {
        *half = u64::try_from(position >> shift & u128::from(u64::MAX)).unwrap_or_default();
    }
    Ok(())
}
