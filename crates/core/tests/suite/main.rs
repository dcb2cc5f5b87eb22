//! What the core does, seen from outside: one program, so that its parts share what takes artifacts apart.

// A test stops at what is not as it must be.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod chunks;
mod corruption;
mod prompt;
mod refusals;
#[cfg(feature = "conformance")]
mod sampling;
mod special;
mod stream;
mod support;
mod template;
mod tokenizer;
