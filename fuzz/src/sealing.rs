//! Artifacts taken apart, changed, and sealed again.

use sha2::{Digest, Sha256};
use slm2_core::{Artifact, ErrorCode, Value};

use crate::definition::u32_at;

const HEADER: usize = 64;
const DIGEST: usize = 32;

/// A section to be sealed.
pub struct Section {
    /// Of section.
    pub kind: u32,
    /// Of its entry in the directory.
    pub flags: u32,
    /// Its bytes.
    pub content: Vec<u8>,
}

/// An artifact taken apart.
pub struct Draft {
    /// The header; what follows from the sections is put right.
    pub header: [u8; HEADER],
    /// In the order of the directory.
    pub sections: Vec<Section>,
}

impl Draft {
    /// Take an artifact apart that is as it should be.
    #[must_use]
    pub fn of(data: &[u8]) -> Self {
        let section = |index: usize| {
            let entry = &data[HEADER + 24 * index..];
            let (start, length) = (u32_at(entry, 8) as usize, u32_at(entry, 16) as usize);
            Section { kind: u32_at(entry, 0), flags: u32_at(entry, 4), content: data[start..start + length].to_vec() }
        };
        Self {
            header: data[..HEADER].try_into().expect("a header"),
            sections: (0..u32_at(data, 28) as usize).map(section).collect(),
        }
    }

    /// The file, with both digests right.
    #[must_use]
    pub fn seal(&self) -> Vec<u8> {
        with_length_and_digests(self.assembled())
    }

    /// The file, with no digest.
    #[must_use]
    pub fn assembled(&self) -> Vec<u8> {
        let mut data = self.header.to_vec();
        let mut at = HEADER + 24 * self.sections.len();
        for section in &self.sections {
            let start = at.next_multiple_of(64);
            at = start + section.content.len();
            data.extend(section.kind.to_le_bytes());
            data.extend(section.flags.to_le_bytes());
            data.extend((start as u64).to_le_bytes());
            data.extend((section.content.len() as u64).to_le_bytes());
        }
        for section in &self.sections {
            data.resize(data.len().next_multiple_of(64), 0);
            data.extend(&section.content);
        }
        data.resize(data.len().next_multiple_of(64), 0);
        data[28..32].copy_from_slice(&u32::try_from(self.sections.len()).expect("few sections").to_le_bytes());
        data.resize(data.len() + DIGEST, 0);
        data
    }
}

/// At least a header and a digest, with the length of the file and both digests put right; the reader says what the semantic one is.
#[must_use]
pub fn with_length_and_digests(mut data: Vec<u8>) -> Vec<u8> {
    data.resize(data.len().max(HEADER + DIGEST), 0);
    let length = data.len() as u64;
    data[16..24].copy_from_slice(&length.to_le_bytes());
    put_digest(&mut data);
    if let Err(error) = Artifact::from_bytes(data.as_slice()) {
        if let (ErrorCode::ArtifactSemanticDigest, Some((_, Value::Text(hex)))) = (error.code, error.fields.get(1)) {
            let byte = |at: usize| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("hex");
            for at in 0..DIGEST {
                data[32 + at] = byte(at);
            }
            put_digest(&mut data);
        }
    }
    data
}

fn put_digest(data: &mut [u8]) {
    let limit = data.len() - DIGEST;
    let digest = Sha256::digest(&data[..limit]);
    data[limit..].copy_from_slice(&digest);
}
