//! What slm2-core must hold for any input: a function for each target, which panics where it does not.
//!
//! The functions take bytes and nothing else, so that cargo-fuzz and the runner of this crate share them, and a file with the bytes of
//! a failure repeats it. The ids that they compare with come from [`definition`], which reads an artifact by contract/artifact.md and
//! does what contract/tokenizer.md and contract/normalization.md say in the plainest way, without any code of slm2-core.

pub mod definition;
pub mod input;
mod normalization;
pub mod random;
pub mod sealing;
pub mod targets;
pub mod worlds;

/// A target: it panics where something does not hold.
pub type Target = fn(&[u8]);

/// Name and function of each target.
pub const TARGETS: [(&str, Target); 6] = [
    ("artifact", targets::artifact::run),
    ("encode", targets::encode::run),
    ("chunked", targets::chunked::run),
    ("decode", targets::decode::run),
    ("merges", targets::merges::run),
    ("session", targets::session::run),
];
