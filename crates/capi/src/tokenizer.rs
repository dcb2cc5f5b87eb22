//! Text to ids and back (contract/tokenizer.md).

use slm2_core::{Error, OnSpecial, Tokenizer, Unit};

use crate::context::{Context, Status, call};
use crate::contract::{Contract, profile, special};
use crate::memory::{put, shared, slice};

/// An id and the range of the text that it came from, in the unit that was asked for.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// The id.
    pub id: usize,
    /// Where the range begins.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// The text of a special token in a text is encoded as the plain text that it is.
pub const SLM2_ON_SPECIAL_LITERAL: u32 = 0;
/// It is refused (`special_token_in_text`).
pub const SLM2_ON_SPECIAL_REJECT: u32 = 1;
/// Ranges count bytes.
pub const SLM2_UNIT_BYTES: u32 = 0;
/// Ranges count scalar values.
pub const SLM2_UNIT_CODE_POINTS: u32 = 1;
/// Ranges count UTF-16 code units.
pub const SLM2_UNIT_UTF16: u32 = 2;
/// No id.
pub const SLM2_NO_ID: u32 = u32::MAX;

pub(crate) fn on_special(number: u32) -> Result<OnSpecial, Error> {
    match number {
        SLM2_ON_SPECIAL_LITERAL => Ok(OnSpecial::Literal),
        SLM2_ON_SPECIAL_REJECT => Ok(OnSpecial::Reject),
        other => Err(Error::invalid_value("on_special", "0 (literal) or 1 (reject)", &other.to_string())),
    }
}

fn unit(number: u32) -> Result<Unit, Error> {
    match number {
        SLM2_UNIT_BYTES => Ok(Unit::Bytes),
        SLM2_UNIT_CODE_POINTS => Ok(Unit::CodePoints),
        SLM2_UNIT_UTF16 => Ok(Unit::Utf16),
        other => Err(Error::invalid_value("unit", "0 (bytes), 1 (code_points) or 2 (utf16)", &other.to_string())),
    }
}

/// The tokenizer of a contract and a text that it may encode.
unsafe fn checked<'a>(contract: *const Contract, text: *const u8, length: usize, on: u32) -> Result<(Tokenizer<'a>, &'a [u8]), Error> {
    let (contract, text) = unsafe { (shared(contract, "contract")?, slice(text, length, "text")?) };
    contract.tokenizer().check_special(text, on_special(on)?)?;
    Ok((contract.tokenizer(), text))
}

/// Ids of text, no byte of which becomes a special token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_encode(
    context: *mut Context, contract: *const Contract, profile: u32, on_special: u32, text: *const u8, length: usize, ids: *mut u32,
    capacity: usize, count: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let (tokenizer, text) = checked(contract, text, length, on_special)?;
        let found = tokenizer.encode(text, self::profile(profile)?, context.scratch()?)?;
        context.give_ids(&found, ids, capacity, count)
    };
    unsafe { call(context, work) }
}

/// The same ids with the ranges of the text that they came from.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_encode_spans(
    context: *mut Context, contract: *const Contract, profile: u32, on_special: u32, unit: u32, text: *const u8, length: usize,
    spans: *mut Span, capacity: usize, count: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let (tokenizer, text) = checked(contract, text, length, on_special)?;
        let found = tokenizer.encode_spans(text, self::profile(profile)?, self::unit(unit)?, context.scratch()?)?;
        let span = |span: &slm2_core::Span| Span { id: span.id.get() as usize, start: span.start, end: span.end };
        context.give(found.iter().map(span).collect(), spans, capacity, count)
    };
    unsafe { call(context, work) }
}

/// How many ids text has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_count(
    context: *mut Context, contract: *const Contract, profile: u32, text: *const u8, length: usize, count: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let (tokenizer, text) = checked(contract, text, length, SLM2_ON_SPECIAL_LITERAL)?;
        put(count, "count", tokenizer.count(text, self::profile(profile)?, context.scratch()?)?)
    };
    unsafe { call(context, work) }
}

/// How many, where they are not more than `limit`; else `SIZE_MAX`, and the rest of the text is not looked at.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_count_until(
    context: *mut Context, contract: *const Contract, profile: u32, text: *const u8, length: usize, limit: usize, count: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let (tokenizer, text) = checked(contract, text, length, SLM2_ON_SPECIAL_LITERAL)?;
        let found = tokenizer.count_until(text, self::profile(profile)?, limit, context.scratch()?)?;
        put(count, "count", found.unwrap_or(usize::MAX))
    };
    unsafe { call(context, work) }
}

/// Ids of text in which the text of a special token is that token: never for text of others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_encode_trusted(
    context: *mut Context, contract: *const Contract, profile: u32, text: *const u8, length: usize, ids: *mut u32, capacity: usize,
    count: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let (tokenizer, text) = checked(contract, text, length, SLM2_ON_SPECIAL_LITERAL)?;
        let found = tokenizer.encode_trusted(text, self::profile(profile)?, context.scratch()?)?;
        context.give_ids(&found, ids, capacity, count)
    };
    unsafe { call(context, work) }
}

/// The texts of special tokens in text, in bytes: from the left, the longest at each place, not overlapping.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_find_special(
    context: *mut Context, contract: *const Contract, text: *const u8, length: usize, spans: *mut Span, capacity: usize, count: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let (tokenizer, text) = checked(contract, text, length, SLM2_ON_SPECIAL_LITERAL)?;
        let found = tokenizer.find_special(text).into_iter();
        let spans_found = found.map(|found| Span { id: found.id.get() as usize, start: found.start, end: found.end }).collect();
        context.give(spans_found, spans, capacity, count)
    };
    unsafe { call(context, work) }
}

/// The bytes of tokens one after the other, which need not be UTF-8 (`token_id_out_of_range`, `structural_id`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_decode(
    context: *mut Context, contract: *const Contract, special: u32, ids: *const u32, count: usize, bytes: *mut u8, capacity: usize,
    length: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let (contract, ids) = (shared(contract, "contract")?, slice(ids, count, "ids")?);
        let decoded = contract.tokenizer().decode(ids, self::special(special)?)?;
        context.give(decoded, bytes, capacity, length)
    };
    unsafe { call(context, work) }
}

/// The bytes of a plain token or the text of a special one (`token_id_out_of_range`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_token_bytes(
    context: *mut Context, contract: *const Contract, id: u32, bytes: *mut u8, capacity: usize, length: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let token = shared(contract, "contract")?.tokenizer().token_bytes(id)?;
        context.give(token.to_vec(), bytes, capacity, length)
    };
    unsafe { call(context, work) }
}

/// The plain token that has exactly these bytes, or [`SLM2_NO_ID`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_token_id(
    context: *mut Context, contract: *const Contract, bytes: *const u8, length: usize, id: *mut u32,
) -> Status {
    let work = |_: &mut Context| unsafe {
        let token = shared(contract, "contract")?.tokenizer().token_id(slice(bytes, length, "bytes")?);
        put(id, "id", token.map_or(SLM2_NO_ID, slm2_core::TokenId::get))
    };
    unsafe { call(context, work) }
}
