#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod artifact;
mod by_place;
mod character_set;
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

/// And the page for Rust of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/how-to/rust.md")]
struct HowTo;
