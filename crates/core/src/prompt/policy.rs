//! The system policy as a sealed value (contract/prompt.md, P-30).

use alloc::string::String;
use core::fmt;

use crate::artifact::{hex, sha256};

/// A policy that can be put into a prompt and named, never shown: nothing here prints, compares or serializes its text.
pub struct Policy {
    text: String,
    digest: [u8; 32],
}

impl Policy {
    /// Seal a text.
    #[must_use]
    pub fn new(text: String) -> Self {
        let digest = sha256(text.as_bytes());
        Self { text, digest }
    }

    /// SHA-256 of the UTF-8 text, hex. Whoever has it can confirm a guess of a short policy (P-31).
    #[must_use]
    pub fn digest(&self) -> String {
        hex(&self.digest, "")
    }

    /// Of the UTF-8 text, in bytes.
    #[must_use]
    pub fn length(&self) -> usize {
        self.text.len()
    }

    /// The text, for the system message alone.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Policy(length={}, digest={})", self.length(), self.digest())
    }
}
