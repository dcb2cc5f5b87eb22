//! Artifacts that this reader has checked before.
//!
//! A file whose digest is one of these is, byte for byte, one that passed every check of this very code: a test of this crate opens it with
//! all of them, and fails where the code or the file has changed since. The digest itself is computed each time a file is opened.

const DIGEST_SIZE: usize = super::layout::DIGEST_SIZE;

/// File digests.
const KNOWN: [[u8; DIGEST_SIZE]; 1] = [
    // Qwen3-0.6B, which the packages carry.
    digest(b"7c3815f8661d5c5647d19a7f21220b5906c5fd868452bf8893c71341945ff354"),
];

/// Whether the file of a digest, which was compared with its bytes, is known.
pub(super) fn holds(digest: &[u8]) -> bool {
    KNOWN.iter().any(|known| known == digest)
}

#[allow(clippy::indexing_slicing)] // checked when it is compiled
const fn digest(hex: &[u8; 2 * DIGEST_SIZE]) -> [u8; DIGEST_SIZE] {
    let mut bytes = [0; DIGEST_SIZE];
    let mut at = 0;
    while at < DIGEST_SIZE {
        bytes[at] = value(hex[2 * at]) << 4 | value(hex[2 * at + 1]);
        at += 1;
    }
    bytes
}

const fn value(digit: u8) -> u8 {
    if digit.is_ascii_digit() { digit - b'0' } else { digit - b'a' + 10 }
}

#[cfg(test)]
mod tests {
    use super::super::{Artifact, Checks, container};
    use super::*;

    const EMBEDDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../src/slm2/data/qwen3-0.6b.slm2");

    #[test]
    fn each_passes_all_checks() {
        let data = std::fs::read(EMBEDDED).expect("the artifact that the packages carry");
        assert_eq!(KNOWN.each_ref().map(<[u8; DIGEST_SIZE]>::as_slice), [container::recorded_digest(&data)]);
        let checked = Artifact::open(data.as_slice(), |_| Checks::All).expect("it passes");
        let known = Artifact::from_bytes(data.as_slice()).expect("it passes");
        assert_eq!(checked.info_to_json(), known.info_to_json());
    }

    #[test]
    fn another_file_is_not() {
        let mut data = std::fs::read(EMBEDDED).expect("the artifact that the packages carry");
        assert!(holds(container::recorded_digest(&data)));
        // One bit of the last base of the merges' rows, and the digest put right: refused as ever.
        let end = data.len() - DIGEST_SIZE;
        let at = end / 2;
        data[at] ^= 1;
        let digest = super::super::sha256(&data[..end]);
        data[end..].copy_from_slice(&digest);
        assert!(!holds(container::recorded_digest(&data)));
        assert!(Artifact::from_bytes(data).is_err());
    }
}
