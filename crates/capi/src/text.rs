//! Texts that arrive in parts, and texts that grow (contract/tokenizer.md, T-15 and T-16).

use slm2_core::{ChunkEncoder, Error, GrowingText, Scratch, TokenId, Tokenizer};

use crate::context::{Context, Status, call};
use crate::contract::{Contract, Opened, profile};
use crate::memory::{free, put, put_handle, shared, slice, unique};

/// The ids of a text that arrives in parts. Made with [`slm2_chunks_new`].
pub struct Chunks {
    opened: Opened,
    encoder: ChunkEncoder,
}

/// A text that grows at its end, with its ids. Made with [`slm2_text_new`].
pub struct Text {
    opened: Opened,
    text: GrowingText,
}

/// An encoder before the first byte of a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_chunks_new(
    context: *mut Context, contract: *const Contract, profile: u32, chunks: *mut *mut Chunks,
) -> Status {
    let made = || unsafe {
        let opened = shared(contract, "contract")?.0.clone();
        Ok(Chunks { opened, encoder: ChunkEncoder::new(self::profile(profile)?) })
    };
    unsafe { call(context, |_| put_handle(chunks, made())) }
}

/// Free it; NULL is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_chunks_free(chunks: *mut Chunks) {
    unsafe { free(chunks) }
}

/// A step of an encoder.
type Encodes<'a> = dyn Fn(&mut ChunkEncoder, &Tokenizer<'_>, &mut Scratch, &mut Vec<TokenId>) -> Result<(), Error> + 'a;

unsafe fn chunk_ids(context: *mut Context, chunks: *mut Chunks, out: (*mut u32, usize, *mut usize), work: &Encodes<'_>) -> Status {
    let work = |context: &mut Context| unsafe {
        let chunks = unique(chunks, "chunks")?;
        let mut ids = Vec::new();
        work(&mut chunks.encoder, &Tokenizer::new(&chunks.opened), context.scratch()?, &mut ids)?;
        context.give_ids(&ids, out.0, out.1, out.2)
    };
    unsafe { call(context, work) }
}

/// The ids that are certain with these bytes; `pretoken_too_long` ends the text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_chunks_push(
    context: *mut Context, chunks: *mut Chunks, bytes: *const u8, length: usize, ids: *mut u32, capacity: usize, count: *mut usize,
) -> Status {
    unsafe {
        chunk_ids(context, chunks, (ids, capacity, count), &|encoder, tokenizer, scratch, ids| {
            encoder.push(tokenizer, slice(bytes, length, "bytes")?, scratch, ids)
        })
    }
}

/// The ids that what waits would have if the text ended here; it goes on all the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_chunks_rest(
    context: *mut Context, chunks: *mut Chunks, ids: *mut u32, capacity: usize, count: *mut usize,
) -> Status {
    unsafe { chunk_ids(context, chunks, (ids, capacity, count), &|encoder, tokenizer, scratch, ids| encoder.rest(tokenizer, scratch, ids)) }
}

/// End the text: the ids of what waits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_chunks_finish(
    context: *mut Context, chunks: *mut Chunks, ids: *mut u32, capacity: usize, count: *mut usize,
) -> Status {
    unsafe { chunk_ids(context, chunks, (ids, capacity, count), &ChunkEncoder::finish) }
}

/// How many bytes wait for what comes after them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_chunks_pending(context: *mut Context, chunks: *const Chunks, bytes: *mut usize) -> Status {
    unsafe { call(context, |_| put(bytes, "bytes", shared(chunks, "chunks")?.encoder.pending())) }
}

/// The empty text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_text_new(context: *mut Context, contract: *const Contract, profile: u32, text: *mut *mut Text) -> Status {
    let made = || unsafe {
        let opened = shared(contract, "contract")?.0.clone();
        Ok(Text { opened, text: GrowingText::new(self::profile(profile)?) })
    };
    unsafe { call(context, |_| put_handle(text, made())) }
}

/// Another one that goes on from here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_text_copy(context: *mut Context, text: *const Text, copy: *mut *mut Text) -> Status {
    let made = || unsafe { shared(text, "text") }.map(|text| Text { opened: text.opened.clone(), text: text.text.clone() });
    unsafe { call(context, |_| put_handle(copy, made())) }
}

/// Free it; NULL is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_text_free(text: *mut Text) {
    unsafe { free(text) }
}

/// Append text: the first `keep` ids stay, what comes after them goes, `ids` come in its place. A refusal leaves all as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_text_append(
    context: *mut Context, text: *mut Text, bytes: *const u8, length: usize, keep: *mut usize, ids: *mut u32, capacity: usize,
    count: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        put(keep, "keep", 0)?;
        let (text, bytes) = (unique(text, "text")?, slice(bytes, length, "bytes")?);
        let growth = text.text.append(&Tokenizer::new(&text.opened), bytes, context.scratch()?)?;
        put(keep, "keep", growth.keep)?;
        context.give_ids(&growth.ids, ids, capacity, count)
    };
    unsafe { call(context, work) }
}

/// How many ids the text has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_text_count(context: *mut Context, text: *const Text, count: *mut usize) -> Status {
    unsafe { call(context, |_| put(count, "count", shared(text, "text")?.text.count())) }
}
