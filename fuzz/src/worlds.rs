//! The artifacts that targets work with, each with its definition, opened once.

use std::path::Path;
use std::sync::LazyLock;

use slm2_core::{Artifact, Profile, Scratch, TokenId, Tokenizer};

use crate::definition::Definition;

/// Both profiles.
pub const PROFILES: [Profile; 2] = [Profile::Contract, Profile::Publisher];
/// A limit that no input of a target reaches.
pub const NO_LIMIT: usize = 1 << 24;
/// Inputs are cut off there: the definition takes time with the square of a piece.
pub const LONGEST_TEXT: usize = 3_000;

/// An artifact and its definition.
pub struct World {
    /// As the engine reads it.
    pub artifact: Artifact<Vec<u8>>,
    /// As the contract reads it.
    pub definition: Definition,
}

static EMBEDDED: LazyLock<World> = LazyLock::new(|| World::of_file("src/slm2/data/qwen3-0.6b.slm2"));
static SMALL: LazyLock<World> = LazyLock::new(|| World::of_file("tests/data/small-v1.slm2"));

impl World {
    /// The artifact of the package, or the small one of the tests, as a bit of an input says.
    #[must_use]
    pub fn chosen(small: bool) -> &'static Self {
        if small { &SMALL } else { &EMBEDDED }
    }

    /// An artifact that opens; `None` where the bytes are refused.
    #[must_use]
    pub fn of(data: &[u8]) -> Option<Self> {
        let artifact = Artifact::from_bytes(data.to_vec()).ok()?;
        Some(Self { artifact, definition: Definition::of(data) })
    }

    fn of_file(path: &str) -> Self {
        Self::of(&checkout_file(path)).expect("an artifact of the checkout opens")
    }

    /// What encodes.
    #[must_use]
    pub fn tokenizer(&self) -> Tokenizer<'_> {
        Tokenizer::new(&self.artifact)
    }
}

/// The bytes of a file of the checkout.
#[must_use]
pub fn checkout_file(path: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Memory with a limit; one that is out of range is taken for the next that is not.
#[must_use]
pub fn scratch(limit: usize) -> Scratch {
    Scratch::new(limit).expect("the limits of targets are in range")
}

/// The limit that a byte of an input chooses: mostly none, else a small one.
#[must_use]
pub fn limit_of(byte: u8) -> usize {
    match byte {
        0..=0x7F => NO_LIMIT,
        _ => Scratch::SHORTEST_PRETOKEN + usize::from(byte & 0x3F),
    }
}

/// Ids as numbers.
#[must_use]
pub fn numbers(ids: &[TokenId]) -> Vec<u32> {
    ids.iter().map(|id| id.get()).collect()
}
