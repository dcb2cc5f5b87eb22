//! `slm2.wasm`: the core behind exports that take numbers and addresses, for hosts without a binding generator.
//!
//! A host reserves memory with [`slm2_alloc`], writes there, and calls. All is little-endian. A function that can fail returns a
//! status: 0, or 1 with the error's code and fields as text at [`slm2_error`]. One thread at a time may be inside.
//!
//! # Safety
//! Every `unsafe` function here trusts its addresses: they must come from [`slm2_alloc`] or [`slm2_sampler_new`] of this module, be
//! as long as is said, aligned for what is there, and not be freed. Within WebAssembly nothing outside the module can be reached.

use std::cell::RefCell;
use std::slice;

use slm2_core::sampling::{Numbers, Outcome, Recipe, Sampler, SamplingConfig, Seed, math};
use slm2_core::{Error, Profile};

thread_local! {
    static LAST_ERROR: RefCell<String> = const { RefCell::new(String::new()) };
}

/// What a sampler is made of: fields of 8 bytes each, so that no host needs to know about padding.
#[repr(C)]
pub struct Settings {
    /// 0 contract, 1 publisher.
    pub profile: u64,
    /// 0 `pcg32`, 1 `chacha8` with a number, 2 `chacha8` with a key, 3 `mt19937-torch`.
    pub rng: u64,
    /// The seed, where it is a number.
    pub seed: u64,
    /// The number of the stream.
    pub stream: u64,
    /// The key, where there is one.
    pub key: [u8; 32],
    /// See `SamplingConfig`, also below.
    pub top_k: u64,
    /// 0 is the greatest logit.
    pub temperature: f64,
    /// 1 is off.
    pub top_p: f64,
    /// 0 is off.
    pub min_p: f64,
    /// 1 is off.
    pub repetition_penalty: f64,
    /// 0 is off.
    pub presence_penalty: f64,
    /// 0 is off.
    pub frequency_penalty: f64,
    /// Logits of a row.
    pub width: u64,
    /// Ids from here on have no meaning.
    pub limit: u64,
    /// How many ids will be drawn at most.
    pub expected: u64,
}

/// What a step gives: fields of 8 bytes each.
#[repr(C)]
pub struct Drawn {
    /// The token.
    pub id: u64,
    /// Words taken.
    pub words: u64,
    /// Before `top_k`, after it, after `top_p`, after `min_p`.
    pub sizes: [u64; 4],
    /// Among the kept ones.
    pub probability: f64,
    /// Its logarithm.
    pub log_probability: f64,
    /// The numbers that decided; those that a profile has not are 0.
    pub numbers: [f64; 4],
}

/// Memory for a host, aligned to 8; 0 where there is none.
#[unsafe(no_mangle)]
pub extern "C" fn slm2_alloc(length: usize) -> *mut u64 {
    let mut words = Vec::new();
    if words.try_reserve_exact(length.div_ceil(8).max(1)).is_err() {
        return std::ptr::null_mut();
    }
    words.resize(length.div_ceil(8).max(1), 0_u64);
    Box::into_raw(words.into_boxed_slice()).cast()
}

/// Give it back.
///
/// # Safety
/// `memory` is from [`slm2_alloc`] with the same length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_free(memory: *mut u64, length: usize) {
    // SAFETY: the caller's promise; the box was made of as many words.
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(memory, length.div_ceil(8).max(1))) });
}

/// A sampler; 0 where the settings are refused.
///
/// # Safety
/// `settings` is a [`Settings`], `prompt` has `length` u32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_sampler_new(
    settings: *const Settings,
    prompt: *const u32,
    length: usize,
) -> *mut Sampler {
    // SAFETY: the caller's promise.
    let (settings, prompt) = unsafe { (&*settings, slice::from_raw_parts(prompt, length)) };
    let made = Sampler::with_width(
        config(settings),
        prompt,
        size(settings.expected),
        size(settings.width),
        size(settings.limit),
    );
    match made {
        Ok(sampler) => Box::into_raw(Box::new(sampler)),
        Err(error) => {
            remember(&error);
            std::ptr::null_mut()
        }
    }
}

/// # Safety
/// `sampler` is from [`slm2_sampler_new`], and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_sampler_free(sampler: *mut Sampler) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(sampler) });
}

/// Draw an id; the status.
///
/// # Safety
/// `logits` has `width` float32, `allowed` as many bits or is 0, `drawn` is a [`Drawn`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_sampler_sample(
    sampler: *mut Sampler,
    logits: *const f32,
    width: usize,
    allowed: *const u8,
    drawn: *mut Drawn,
) -> u32 {
    // SAFETY: the caller's promise.
    let (sampler, logits) = unsafe { (&mut *sampler, slice::from_raw_parts(logits, width)) };
    // SAFETY: the caller's promise.
    let mask = (!allowed.is_null()).then(|| unsafe { slice::from_raw_parts(allowed, width.div_ceil(8)) });
    match sampler.sample(logits, mask, 0) {
        Ok(outcome) => {
            // SAFETY: the caller's promise.
            unsafe { drawn.write(answer(&outcome)) };
            0
        }
        Err(error) => remember(&error),
    }
}

/// The ids that the last step kept, in no order, to `ids`; how many they are. Nothing is written where `capacity` is less.
///
/// # Safety
/// `ids` has room for `capacity` u32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_sampler_kept(sampler: *const Sampler, ids: *mut u32, capacity: usize) -> usize {
    // SAFETY: the caller's promise.
    let kept = unsafe { &*sampler }.kept();
    if kept.len() <= capacity {
        // SAFETY: the caller's promise.
        unsafe { slice::from_raw_parts_mut(ids, kept.len()) }.copy_from_slice(kept);
    }
    kept.len()
}

/// The row of logits of a recipe (contract/sampling.md, S-70).
///
/// # Safety
/// `logits` has room for `width` float32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_recipe(
    seed: u64,
    step: u64,
    scale: f64,
    head: f64,
    bfloat16: u32,
    logits: *mut f32,
    width: usize,
) {
    let recipe = Recipe { seed, step, scale, head, bfloat16: bfloat16 != 0 };
    // SAFETY: the caller's promise.
    recipe.write(unsafe { slice::from_raw_parts_mut(logits, width) });
}

/// exp (0), log (1) or log1p (2) of each of some float64, in their place: what a host compares with the bits of another.
///
/// # Safety
/// `values` has `count` float64.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_portable(function: u32, values: *mut f64, count: usize) {
    // SAFETY: the caller's promise.
    for value in unsafe { slice::from_raw_parts_mut(values, count) } {
        *value = match function {
            0 => math::exp(*value),
            1 => math::log(*value),
            _ => math::log1p(*value),
        };
    }
}

/// The last error as UTF-8, code and fields, to `text`; its length. Nothing is written where `capacity` is less.
///
/// # Safety
/// `text` has room for `capacity` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_error(text: *mut u8, capacity: usize) -> usize {
    LAST_ERROR.with_borrow(|error| {
        if error.len() <= capacity {
            // SAFETY: the caller's promise.
            unsafe { slice::from_raw_parts_mut(text, error.len()) }.copy_from_slice(error.as_bytes());
        }
        error.len()
    })
}

fn remember(error: &Error) -> u32 {
    LAST_ERROR.set(error.to_string());
    1
}

fn config(settings: &Settings) -> SamplingConfig {
    let Settings { seed, stream, key, .. } = *settings;
    SamplingConfig {
        profile: if settings.profile == 0 { Profile::Contract } else { Profile::Publisher },
        temperature: settings.temperature,
        top_k: u32::try_from(settings.top_k).unwrap_or(u32::MAX),
        top_p: settings.top_p,
        min_p: settings.min_p,
        repetition_penalty: settings.repetition_penalty,
        seed: match settings.rng {
            0 => Seed::Pcg32 { seed, stream },
            1 => Seed::chacha8(seed, stream),
            2 => Seed::ChaCha8 { key, stream },
            _ => Seed::Mt19937Torch { seed },
        },
        logit_bias: Vec::new(),
        banned_ids: Vec::new(),
        presence_penalty: settings.presence_penalty,
        frequency_penalty: settings.frequency_penalty,
    }
}

fn size(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

fn answer(outcome: &Outcome) -> Drawn {
    let numbers = match outcome.numbers {
        Numbers::Greatest => [0.0; 4],
        Numbers::Contract { uniform, below, weight, mass } => [uniform, below, weight, mass],
        Numbers::Publisher { variate, ratio } => [variate.into(), ratio.into(), 0.0, 0.0],
    };
    Drawn {
        id: outcome.id.into(),
        words: outcome.words.into(),
        sizes: outcome.sizes.map(u64::from),
        probability: outcome.probability,
        log_probability: outcome.log_probability,
        numbers,
    }
}
