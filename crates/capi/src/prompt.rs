//! Requests to prompts that fit (contract/prompt.md).

use slm2_core::prompt::{Assembly as CoreAssembly, Prompt};

use crate::context::{Context, Status, call};
use crate::contract::{Contract, profile};
use crate::memory::{free, put_handle, shared, slice};
use crate::tokenizer::on_special;

/// An assembled prompt. Made with [`slm2_assemble`].
pub struct Assembly(CoreAssembly);

/// Assemble a request: JSON, an object of contract/prompt.md, whose refusals these are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_assemble(
    context: *mut Context, contract: *const Contract, profile: u32, on_special: u32, request: *const u8, length: usize,
    assembly: *mut *mut Assembly,
) -> Status {
    let made = |context: &mut Context| unsafe {
        let (contract, request) = (shared(contract, "contract")?, slice(request, length, "request")?);
        let (profile, on_special) = (self::profile(profile)?, self::on_special(on_special)?);
        Prompt::new(&*contract.0)?.assemble_json(request, profile, on_special, context.scratch()?).map(Assembly)
    };
    unsafe { call(context, |context| put_handle(assembly, made(context))) }
}

/// Free it; NULL is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_assembly_free(assembly: *mut Assembly) {
    unsafe { free(assembly) }
}

/// The ids of the prompt.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_assembly_ids(
    context: *mut Context, assembly: *const Assembly, ids: *mut u32, capacity: usize, count: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe { context.give_ids(shared(assembly, "assembly")?.0.input_ids(), ids, capacity, count) };
    unsafe { call(context, work) }
}

unsafe fn written(
    context: *mut Context, assembly: *const Assembly, out: (*mut u8, usize, *mut usize), form: fn(&CoreAssembly) -> String,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let text = form(&shared(assembly, "assembly")?.0);
        context.give(text.into_bytes(), out.0, out.1, out.2)
    };
    unsafe { call(context, work) }
}

/// All of it as JSON (contract/prompt.md, the report, with `input_ids` and `tokens`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_assembly_json(
    context: *mut Context, assembly: *const Assembly, json: *mut u8, capacity: usize, length: *mut usize,
) -> Status {
    unsafe { written(context, assembly, (json, capacity, length), CoreAssembly::to_json) }
}

/// The report alone: without `input_ids` and `tokens`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_assembly_report(
    context: *mut Context, assembly: *const Assembly, json: *mut u8, capacity: usize, length: *mut usize,
) -> Status {
    unsafe { written(context, assembly, (json, capacity, length), CoreAssembly::report_json) }
}

/// Each id with its origin as JSON, in the rows of `slm2_rendering_tokens`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_assembly_tokens(
    context: *mut Context, assembly: *const Assembly, json: *mut u8, capacity: usize, length: *mut usize,
) -> Status {
    unsafe { written(context, assembly, (json, capacity, length), CoreAssembly::tokens_json) }
}

/// What to do with a model's cache that holds `cached` ids, as JSON: `keep`, `append`, `lost` and `broken`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_assembly_delta(
    context: *mut Context, assembly: *const Assembly, cached: *const u32, count: usize, json: *mut u8, capacity: usize, length: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let delta = shared(assembly, "assembly")?.0.delta(slice(cached, count, "cached")?);
        context.give(delta.to_json().into_bytes(), json, capacity, length)
    };
    unsafe { call(context, work) }
}
