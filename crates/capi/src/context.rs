//! What one thread works in: memory, the last error, the last result.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use slm2_core::{Error, ErrorCode, Scratch, TokenId};

use crate::memory::{Memory, free, put, put_all};
use crate::sampling::Ranked;
use crate::tokenizer::Span;

/// What became of a call.
pub type Status = u32;
/// It was done.
pub const SLM2_OK: Status = 0;
/// It was refused: see [`slm2_error`].
pub const SLM2_REFUSED: Status = 1;
/// It was done, and its result is larger than the memory for it: see [`slm2_result`].
pub const SLM2_TOO_SMALL: Status = 2;
/// There is no context to work in.
pub const SLM2_NO_CONTEXT: Status = 3;
/// The library made a mistake: of the handles of this call only the context may be used again. Please report it.
pub const SLM2_INTERNAL: Status = 4;

/// Changes when a function, a struct or a meaning of this header changes in a way that callers see.
pub const SLM2_ABI_VERSION: u32 = 1;
/// The longest piece of text in bytes that a new context encodes.
pub const SLM2_MAX_PRETOKEN: u64 = 1 << 27;

/// What one thread works in. Made with [`slm2_context_new`].
pub struct Context {
    max_pretoken: usize,
    /// Made when first needed: 16 times as large as the longest piece so far.
    scratch: Option<Scratch>,
    error: Option<Error>,
    result: Answer,
}

/// The last result.
pub(crate) enum Answer {
    Bytes(Vec<u8>),
    Ids(Vec<u32>),
    Spans(Vec<Span>),
    Ranked(Vec<Ranked>),
}

/// What a result consists of.
pub(crate) trait Element: Copy {
    fn keep(result: Vec<Self>) -> Answer;
}

macro_rules! elements {
    ($($element:ty => $kept:ident),*) => { $(
        impl Element for $element {
            fn keep(result: Vec<Self>) -> Answer {
                Answer::$kept(result)
            }
        }
    )* };
}
elements!(u8 => Bytes, u32 => Ids, Span => Spans, Ranked => Ranked);

impl Answer {
    fn bytes(&self) -> &[u8] {
        fn raw<T>(elements: &[T]) -> &[u8] {
            // SAFETY: integers and floats without padding, as many bytes as they have.
            unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
        }
        match self {
            Self::Bytes(elements) => elements,
            Self::Ids(elements) => raw(elements),
            Self::Spans(elements) => raw(elements),
            Self::Ranked(elements) => raw(elements),
        }
    }
}

impl Context {
    pub(crate) fn scratch(&mut self) -> Result<&mut Scratch, Error> {
        match &mut self.scratch {
            Some(scratch) => Ok(scratch),
            empty => Ok(empty.insert(Scratch::new(self.max_pretoken)?)),
        }
    }

    /// Give a result to the caller; keep it where there is too little room.
    pub(crate) unsafe fn give<T: Element>(&mut self, result: Vec<T>, out: *mut T, capacity: usize, count: *mut usize) -> Result<(), Error> {
        let needed = result.len();
        unsafe { put(count, "count", needed) }?;
        if needed > capacity {
            self.result = T::keep(result);
            return Err(Error::output_too_small(needed, capacity));
        }
        unsafe { put_all(out, &result, "out") }
    }

    pub(crate) unsafe fn give_ids(&mut self, ids: &[TokenId], out: *mut u32, capacity: usize, count: *mut usize) -> Result<(), Error> {
        unsafe { self.give(ids.iter().map(|id| id.get()).collect(), out, capacity, count) }
    }
}

/// Do the work of one call.
pub(crate) unsafe fn call(context: *mut Context, mut work: impl FnMut(&mut Context) -> Result<(), Error>) -> Status {
    unsafe { guarded(context, &mut work) }
}

/// The same for work of any kind: what surrounds it is compiled once, and not for each function of the header.
unsafe fn guarded(context: *mut Context, work: &mut dyn FnMut(&mut Context) -> Result<(), Error>) -> Status {
    if context.is_null() || !context.is_aligned() {
        return SLM2_NO_CONTEXT;
    }
    let context = unsafe { &mut *context };
    context.error = None;
    context.result = Answer::Bytes(Vec::new());
    match catch_unwind(AssertUnwindSafe(|| work(context))) {
        Ok(Ok(())) => SLM2_OK,
        Ok(Err(error)) => {
            let status = if error.code == ErrorCode::OutputTooSmall { SLM2_TOO_SMALL } else { SLM2_REFUSED };
            context.error = Some(error);
            status
        }
        Err(panic) => {
            let said = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
            context.scratch = None;
            context.error = Some(Error::internal(said.unwrap_or("a place that is not known")));
            SLM2_INTERNAL
        }
    }
}

/// [`SLM2_ABI_VERSION`] of the library.
#[unsafe(no_mangle)]
pub extern "C" fn slm2_abi_version() -> u32 {
    SLM2_ABI_VERSION
}

/// A context for one thread.
#[unsafe(no_mangle)]
pub extern "C" fn slm2_context_new() -> *mut Context {
    let max_pretoken = usize::try_from(SLM2_MAX_PRETOKEN).unwrap_or(usize::MAX);
    Box::into_raw(Box::new(Context { max_pretoken, scratch: None, error: None, result: Answer::Bytes(Vec::new()) }))
}

/// Free a context; NULL is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_context_free(context: *mut Context) {
    unsafe { free(context) }
}

/// The longest piece of text in bytes that this context encodes from now on (`limit_out_of_range`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_context_set_max_pretoken(context: *mut Context, max_pretoken: u64) -> Status {
    let work = |context: &mut Context| {
        let limit = usize::try_from(max_pretoken).unwrap_or(usize::MAX);
        context.scratch = Some(Scratch::new(limit)?);
        context.max_pretoken = limit;
        Ok(())
    };
    unsafe { call(context, work) }
}

/// The error of the last call as JSON, `{"code", "fields", "message"}`, or `null`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_error(context: *mut Context, json: *mut u8, capacity: usize, length: *mut usize) -> Status {
    let Ok(context) = (unsafe { crate::memory::shared(context, "context") }) else { return SLM2_NO_CONTEXT };
    let text = context.error.as_ref().map_or_else(|| String::from("null"), Error::to_json);
    unsafe { copy(text.as_bytes(), json, capacity, length) }
}

/// The result of the last call that found too little room, in bytes: `length` of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_result(context: *mut Context, out: *mut c_void, capacity: usize, length: *mut usize) -> Status {
    let Ok(context) = (unsafe { crate::memory::shared(context, "context") }) else { return SLM2_NO_CONTEXT };
    unsafe { copy(context.result.bytes(), out.cast(), capacity, length) }
}

/// Where that result is, and how many bytes it has; it stays there until the next call with this context that is not one of these.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_result_view(context: *mut Context, address: *mut *const c_void, length: *mut usize) -> Status {
    let Ok(context) = (unsafe { crate::memory::shared(context, "context") }) else { return SLM2_NO_CONTEXT };
    let bytes = context.result.bytes();
    let done = unsafe { put(address, "address", bytes.as_ptr().cast()).and_then(|()| put(length, "length", bytes.len())) };
    if done.is_ok() { SLM2_OK } else { SLM2_REFUSED }
}

/// Copy bytes to a caller, and leave the context alone.
unsafe fn copy(bytes: &[u8], out: *mut u8, capacity: usize, length: *mut usize) -> Status {
    if unsafe { put(length, "length", bytes.len()) }.is_err() {
        return SLM2_REFUSED;
    }
    if bytes.len() > capacity {
        return SLM2_TOO_SMALL;
    }
    if unsafe { put_all(out, bytes, "out") }.is_ok() { SLM2_OK } else { SLM2_REFUSED }
}

/// Memory for what a call is given, aligned to 8 and zero; NULL where there is none.
#[unsafe(no_mangle)]
pub extern "C" fn slm2_alloc(length: usize) -> *mut c_void {
    Memory::new(length).map_or(std::ptr::null_mut(), Memory::into_raw)
}

/// Give back memory of [`slm2_alloc`] with the same length; NULL is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn slm2_free(memory: *mut c_void, length: usize) {
    if !memory.is_null() {
        drop(unsafe { Memory::from_raw(memory, length) });
    }
}

#[cfg(test)]
mod tests {
    use super::{SLM2_INTERNAL, SLM2_OK, call, slm2_context_free, slm2_context_new, slm2_error};

    /// What no input reaches: a mistake of the library ends at the boundary, and the context goes on.
    #[test]
    #[allow(clippy::panic)]
    fn a_panic_does_not_cross_the_boundary() {
        let context = slm2_context_new();
        let (mut text, mut length) = ([0_u8; 512], 0);
        // SAFETY: the context is new, and the text as long as is said.
        unsafe {
            assert_eq!(call(context, |_| panic!("a mistake")), SLM2_INTERNAL);
            assert_eq!(slm2_error(context, text.as_mut_ptr(), text.len(), &raw mut length), SLM2_OK);
            assert_eq!(call(context, |_| Ok(())), SLM2_OK);
            slm2_context_free(context);
        }
        let error = String::from_utf8_lossy(text.get(..length).unwrap_or_default()).into_owned();
        assert!(error.starts_with("{\"code\": \"internal_error\", \"fields\": {\"place\": \"a mistake\"}"), "{error}");
    }
}
