//! The one ABI of SLM2: what C, C++, .NET and WebAssembly hosts call. The header is `include/slm2.h`.
//!
//! A [`contract::Contract`] is an opened artifact: immutable, used by any number of threads at once. A [`context::Context`] is what one
//! thread works in; it is the first argument of nearly every call, and keeps the last error and the last result. All else (chunks,
//! streams, samplers, ...) is a handle with a state, used by one thread at a time, with any context, and freed by its own function, in
//! any order: each holds what it needs of the artifact.
//!
//! A call returns a [`context::Status`]. A refusal (`SLM2_REFUSED`) changes nothing but what contract/ says that it changes; its code,
//! fields and message are at [`context::slm2_error`] as JSON. A result goes to memory of the caller: address, capacity and an address for the
//! count of elements. Where the capacity is less than the count, nothing is written and the status is `SLM2_TOO_SMALL`; the call was made,
//! and its result waits in the context ([`context::slm2_result`], or without a copy [`context::slm2_result_view`]) until the next call with
//! this context that is not one of these three.
//!
//! Text is UTF-8 by address and length, never with a zero at the end. Text without a byte may have the address NULL. Structured things
//! are JSON, read by the core's own reader (contract/template.md, M-30 to M-38).
//!
//! # Safety
//! Every `unsafe` function here trusts its addresses: memory is as long as is said, aligned for what is there, not written by another
//! thread meanwhile, and handles come from the function that makes them, are not freed, and, contracts apart, are in no other call. NULL
//! where something must be is refused (`invalid_value`), no context at all by `SLM2_NO_CONTEXT`. Where the process has no memory left it
//! ends, but in [`context::slm2_alloc`]. A mistake of this library itself unwinds no further than the call (`SLM2_INTERNAL`,
//! `internal_error`); in WebAssembly it traps.

// Said once for all above.
#![allow(clippy::missing_safety_doc)]

pub mod conformance;
pub mod context;
pub mod contract;
mod memory;
pub mod prompt;
pub mod sampling;
pub mod session;
pub mod stream;
pub mod template;
pub mod text;
pub mod tokenizer;
