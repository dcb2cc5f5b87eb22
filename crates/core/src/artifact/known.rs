//! Artifacts that this reader has checked before.
//!
//! A file whose digest is one of these is, byte for byte, one that passes every check of this very code: a test of this crate opens it with
//! all of them, and fails where the code or the file has changed so that it no longer does. The digest itself is computed each time a file is opened.

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
        let (start, end) = Artifact::from_bytes(data.as_slice()).expect("it passes").sections.merges;
        // One bit of a merge, and the file's digest put right: only what a known file is spared would see it, and this one is not spared.
        data[usize::try_from(u64::midpoint(start, end)).expect("in memory")] ^= 1;
        let whole = data.len() - DIGEST_SIZE;
        let digest = super::super::sha256(&data[..whole]);
        data[whole..].copy_from_slice(&digest);
        assert!(Artifact::open(data.as_slice(), |_| Checks::Known).is_ok());
        let refusal = Artifact::from_bytes(data).err().expect("it is another");
        assert!(refusal.code.as_str().starts_with("artifact_merges_"), "{}", refusal.code.as_str());
    }
}
