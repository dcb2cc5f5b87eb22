//! Ids to text as they come (contract/stream.md).

use slm2_core::{StreamDecoder, Tokenizer};

use crate::context::{Context, Status, call};
use crate::contract::{Contract, Opened, special};
use crate::memory::{free, put, put_handle, shared, slice, unique};

/// A strict streaming decoder. Made with [`slm2_stream_new`].
pub struct Stream {
    opened: Opened,
    decoder: StreamDecoder,
}

/// A decoder at the beginning of a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_stream_new(
    context: *mut Context, contract: *const Contract, special: u32, stream: *mut *mut Stream,
) -> Status {
    let made = || unsafe {
        let opened = shared(contract, "contract")?.0.clone();
        Ok(Stream { opened, decoder: StreamDecoder::new(self::special(special)?) })
    };
    unsafe { call(context, |_| put_handle(stream, made())) }
}

/// Free it; NULL is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_stream_free(stream: *mut Stream) {
    unsafe { free(stream) }
}

/// Text that became complete with ids, as UTF-8. `ill_formed_text` ends the stream and carries the text of this call in its fields.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_stream_push(
    context: *mut Context, stream: *mut Stream, ids: *const u32, count: usize, text: *mut u8, capacity: usize, length: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let (stream, ids) = (unique(stream, "stream")?, slice(ids, count, "ids")?);
        let complete = stream.decoder.push(&Tokenizer::new(&stream.opened), ids)?;
        context.give(complete.into_bytes(), text, capacity, length)
    };
    unsafe { call(context, work) }
}

/// End the stream (`unfinished_text` where a scalar value is open).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_stream_finish(context: *mut Context, stream: *mut Stream) -> Status {
    unsafe { call(context, |_| unique(stream, "stream")?.decoder.finish()) }
}

/// Bytes that have come and were not delivered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_stream_pending(
    context: *mut Context, stream: *const Stream, bytes: *mut u8, capacity: usize, length: *mut usize,
) -> Status {
    let work = |context: &mut Context| unsafe {
        let pending = shared(stream, "stream")?.decoder.pending().to_vec();
        context.give(pending, bytes, capacity, length)
    };
    unsafe { call(context, work) }
}

/// How many ids were taken.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_stream_position(context: *mut Context, stream: *const Stream, count: *mut u64) -> Status {
    unsafe { call(context, |_| put(count, "count", shared(stream, "stream")?.decoder.position())) }
}
