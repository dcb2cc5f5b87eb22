//! What hosts compare their bits by (contract/conformance.md): portable functions, rows of logits that any host can rebuild, digests.

use sha2::{Digest, Sha256};
use slm2_core::Error;
use slm2_core::sampling::{Recipe, math};

use crate::context::{Context, Status, call};
use crate::memory::{fresh, put_all, slice, slice_mut};

/// The function exp.
pub const SLM2_EXP: u32 = 0;
/// The natural logarithm.
pub const SLM2_LOG: u32 = 1;
/// The logarithm of 1 + x.
pub const SLM2_LOG1P: u32 = 2;

/// Bytes that the digest takes in one call, as where an artifact is opened: WebAssembly's hosts put better code in a function's place
/// between calls only.
const DIGESTED_AT_A_TIME: usize = 1 << 13;

/// A function of [`SLM2_EXP`] and so on of each of some float64, in their place: what a host compares with the bits of another.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_portable(context: *mut Context, function: u32, values: *mut f64, count: usize) -> Status {
    let work = |_: &mut Context| unsafe {
        let apply = match function {
            SLM2_EXP => math::exp,
            SLM2_LOG => math::log,
            SLM2_LOG1P => math::log1p,
            other => return Err(Error::invalid_value("function", "0 (exp), 1 (log) or 2 (log1p)", &other.to_string())),
        };
        slice_mut(values, count, "values")?.iter_mut().for_each(|value| *value = apply(*value));
        Ok(())
    };
    unsafe { call(context, work) }
}

/// The row of logits of a recipe (S-70).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_recipe_logits(
    context: *mut Context, seed: u64, step: u64, scale: f64, head: f64, bfloat16: u32, logits: *mut f32, width: usize,
) -> Status {
    let recipe = Recipe { seed, step, scale, head, bfloat16: bfloat16 != 0 };
    unsafe { call(context, |_| fresh(logits, width, "logits").map(|row| recipe.write(row))) }
}

/// The history of a recipe: `count` ids below `width` (S-73).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_recipe_history(context: *mut Context, seed: u64, width: usize, ids: *mut u32, count: usize) -> Status {
    let work = |_: &mut Context| unsafe {
        let history = Recipe { seed, step: 0, scale: 0.0, head: 0.0, bfloat16: false }.history(count as u64, width as u64);
        put_all(ids, &history, "ids")
    };
    unsafe { call(context, work) }
}

/// The SHA-256 of bytes, 32 bytes to `digest`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_sha256(context: *mut Context, bytes: *const u8, length: usize, digest: *mut u8) -> Status {
    let work = |_: &mut Context| unsafe {
        let mut digester = Sha256::new();
        slice(bytes, length, "bytes")?.chunks(DIGESTED_AT_A_TIME).for_each(|part| digester.update(part));
        put_all(digest, &digester.finalize(), "digest")
    };
    unsafe { call(context, work) }
}
