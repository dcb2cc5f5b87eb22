//! SHA-256, and the two digests of an artifact (contract/artifact.md, two digests).

use alloc::string::String;
use alloc::vec::Vec;

use sha2::{Digest, Sha256};

use super::layout;
use super::merges::{Merges, Slot};

const SEMANTIC_PREFIX: &[u8] = b"slm2 semantic 1\n";
/// Merges that are gathered for the digest.
const MERGES_AT_A_TIME: usize = 1024;
/// Bytes that the digest takes in one call. A host that compiles twice, first at once and then well, as WebAssembly's do, goes from the
/// first code of a function to the second where it is called, never within a call: one over all bytes would take twenty times as long.
const BYTES_AT_A_TIME: usize = 1 << 13;
const HEX: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];

/// Lower-case hex, with `separator` between bytes.
pub(crate) fn hex(bytes: &[u8], separator: &str) -> String {
    let mut text = String::new();
    for (index, byte) in bytes.iter().enumerate() {
        if index > 0 {
            text.push_str(separator);
        }
        text.extend([byte >> 4, byte & 15].iter().filter_map(|&digit| HEX.get(usize::from(digit))));
    }
    text
}

/// SHA-256 of `bytes`.
pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut digester = Digester::default();
    bytes.chunks(BYTES_AT_A_TIME).for_each(|part| digester.update(part));
    digester.finish()
}

/// SHA-256 of bytes that come one after the other.
#[derive(Default)]
pub(crate) struct Digester(Sha256);

impl Digester {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// The semantic digest in the making: sections are added in the order of their kinds.
pub(crate) struct Semantic(Sha256);

impl Semantic {
    pub(crate) fn new() -> Self {
        Self(Sha256::new_with_prefix(SEMANTIC_PREFIX))
    }

    /// A section as it is; an absent one is empty.
    pub(crate) fn section(&mut self, kind: u32, content: &[u8]) {
        self.begin(kind, layout::size(content));
        self.0.update(content);
    }

    /// The merges in rank order, wherever their rows lie.
    pub(crate) fn merges(&mut self, merges: &Merges<'_>, by_rank: &[u64]) {
        self.begin(layout::MERGES, 12 * by_rank.len() as u64);
        // Many at a time: the digest takes whole blocks far faster than single numbers.
        let mut bytes = Vec::with_capacity(12 * MERGES_AT_A_TIME);
        for slots in by_rank.chunks(MERGES_AT_A_TIME) {
            bytes.clear();
            for slot in slots.iter().filter_map(|&slot| Slot::read(slot)) {
                for number in [slot.left, slot.right, merges.merged(slot.rank).unwrap_or(0)] {
                    bytes.extend_from_slice(&number.to_le_bytes());
                }
            }
            self.0.update(&bytes);
        }
    }

    pub(crate) fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }

    fn begin(&mut self, kind: u32, length: u64) {
        self.0.update(kind.to_le_bytes());
        self.0.update(length.to_le_bytes());
    }
}
