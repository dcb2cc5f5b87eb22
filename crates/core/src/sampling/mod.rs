//! Sampling2: logits to a token id (contract/sampling.md), the same bits on every host.
//!
//! Nothing here asks its host about floating point: float32 and float64 with + - * / and comparisons, one rounding an operation, never
//! contracted, never reordered; exponentials and logarithms are written out in [`math`].

// Equal bits are what this is about.
#![allow(clippy::float_cmp)]

mod config;
mod contract;
mod generation_config;
mod generator;
mod history;
mod introsort;
pub mod math;
mod order;
mod outcome;
mod publisher;
#[cfg(feature = "conformance")]
mod recipe;
mod row;
mod sampler;
mod scores;
mod select;

pub use config::{MEANINGLESS_FROM, SamplingConfig, Seed, WIDTH};
pub use generation_config::GenerationConfig;
pub use generator::Generator;
pub use outcome::{Numbers, Outcome, Ranked};
#[cfg(feature = "conformance")]
pub use recipe::{Recipe, splitmix64};
pub use sampler::Sampler;
