//! The engine of SLM2: one sealed artifact in, token ids and text out, the same bits on every host.
//!
//! [`Artifact`] checks every byte of an artifact before anything uses it (contract/artifact.md); [`Tokenizer`] turns text
//! into ids and ids into bytes, [`StreamDecoder`] ids into text as they come; [`sampling`] draws ids, a
//! [`Generation`] does both until something ends it, and a [`Session`] says what of a model's cache stays. Nothing here asks its host
//! about anything: no clock, no environment, no Unicode tables, no hash order. Every refusal is an [`Error`] with a code of
//! contract/errors.toml, and no input reaches a panic.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod artifact;
mod error;
mod error_code;
mod findings;
mod generation;
mod ids;
mod json;
pub mod prompt;
pub mod sampling;
mod session;
mod stream;
mod template;
mod tokenizer;

pub use artifact::Artifact;
pub use error::{Error, SpecialText, Value};
pub use error_code::ErrorCode;
pub use findings::OnSpecial;
pub use generation::{EndReason, GeneratedText, Generation, Step};
pub use ids::TokenId;
pub use json::{JsonValue, Key};
pub use session::{Delta, Loss, LossReason, Session, SessionOptions};
pub use stream::StreamDecoder;
pub use template::{Composition, Finding, ReplyEvent, ReplyKind, ReplyReader, Source, Template, Token};
pub use tokenizer::{ChunkEncoder, Found, GrowingText, Growth, Profile, Scratch, Span, SpecialPolicy, Tokenizer, Unit};

/// The README, whose example in Rust is compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
