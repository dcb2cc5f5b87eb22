//! Artifacts to take apart, change and seal again, and numbers that are the same in every run.

use std::path::Path;

use sha2::{Digest, Sha256};
use slm2_core::{Artifact, Error, ErrorCode, Profile, Scratch, Span, TokenId, Tokenizer, Unit, Value};

pub(crate) const SPECIAL: u32 = 0x10;
pub(crate) const PRETOKENIZER: u32 = 0x20;
pub(crate) const MERGES: u32 = 0x30;
pub(crate) const VOCABULARY: u32 = 0x40;
pub(crate) const NORMALIZATION: u32 = 0x50;
pub(crate) const FACTS: u32 = 0x60;
pub(crate) const PROVENANCE: u32 = 0x70;
pub(crate) const TEMPLATE: u32 = 0x80;

/// The small artifact that `tools/small_artifact.py` makes.
pub(crate) fn small() -> Vec<u8> {
    read("tests/data/small-v1.slm2")
}

/// The artifact that the package carries.
pub(crate) fn embedded() -> Artifact<Vec<u8>> {
    Artifact::from_bytes(read("src/slm2/data/qwen3-0.6b.slm2")).expect("the embedded artifact opens")
}

/// A fresh scratch that no text of a test is too long for.
pub(crate) fn scratch() -> Scratch {
    Scratch::new(1 << 24).expect("it is within the limits")
}

pub(crate) fn encoded(tokenizer: &Tokenizer<'_>, text: &[u8], profile: Profile) -> Vec<TokenId> {
    tokenizer.encode(text, profile, &mut scratch()).expect("no piece is too long")
}

pub(crate) fn spans_of(tokenizer: &Tokenizer<'_>, text: &[u8], profile: Profile) -> Vec<Span> {
    tokenizer.encode_spans(text, profile, Unit::Bytes, &mut scratch()).expect("no piece is too long")
}

pub(crate) fn numbers(ids: &[TokenId]) -> Vec<u32> {
    ids.iter().map(|id| id.get()).collect()
}

pub(crate) fn read(path: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A section to be sealed.
#[derive(Clone)]
pub(crate) struct Section {
    pub(crate) kind: u32,
    pub(crate) flags: u32,
    pub(crate) content: Vec<u8>,
}

/// An artifact taken apart.
#[derive(Clone)]
pub(crate) struct Draft {
    /// The header before the sections are counted: what is not derived is kept.
    pub(crate) header: [u8; 64],
    pub(crate) sections: Vec<Section>,
}

impl Draft {
    pub(crate) fn of(data: &[u8]) -> Self {
        let count = usize::try_from(u32_at(data, 28)).unwrap();
        let sections = (0..count).map(|index| {
            let entry = &data[64 + 24 * index..];
            let start = usize::try_from(u32_at(entry, 8)).unwrap();
            let length = usize::try_from(u32_at(entry, 16)).unwrap();
            Section { kind: u32_at(entry, 0), flags: u32_at(entry, 4), content: data[start..start + length].to_vec() }
        });
        Self { header: data[..64].try_into().unwrap(), sections: sections.collect() }
    }

    pub(crate) fn small() -> Self {
        Self::of(&small())
    }

    /// The small artifact as it is without a template, so that its special tokens can be any.
    pub(crate) fn small_without_template() -> Self {
        let mut draft = Self::small();
        draft.sections.retain(|section| section.kind != TEMPLATE);
        draft
    }

    pub(crate) fn section(&mut self, kind: u32) -> &mut Vec<u8> {
        &mut self.sections.iter_mut().find(|section| section.kind == kind).expect("a section of this kind").content
    }

    /// The file, with the header's digest of behaviour as it was.
    pub(crate) fn seal(&self) -> Vec<u8> {
        let mut data = self.header.to_vec();
        let mut at = 64 + 24 * self.sections.len();
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
        let length = data.len() as u64 + 32;
        data[16..24].copy_from_slice(&length.to_le_bytes());
        data[28..32].copy_from_slice(&u32::try_from(self.sections.len()).unwrap().to_le_bytes());
        data.resize(data.len() + 32, 0);
        with_digest(data)
    }

    /// The file, with a digest of behaviour that is right.
    pub(crate) fn seal_rightly(&self) -> Vec<u8> {
        with_digests(self.seal())
    }
}

/// `data` with its file digest put right.
pub(crate) fn with_digest(mut data: Vec<u8>) -> Vec<u8> {
    let limit = data.len() - 32;
    let digest = Sha256::digest(&data[..limit]);
    data[limit..].copy_from_slice(&digest);
    data
}

/// `data` with both digests put right; the reader says what the semantic one has to be.
pub(crate) fn with_digests(data: Vec<u8>) -> Vec<u8> {
    let mut data = with_digest(data);
    if let Err(error) = Artifact::from_bytes(&*data) {
        if let (ErrorCode::ArtifactSemanticDigest, Some((_, Value::Text(hex)))) = (error.code, error.fields.get(1)) {
            let digest: Vec<u8> =
                (0..32).map(|index| u8::from_str_radix(&hex[2 * index..2 * index + 2], 16).unwrap()).collect();
            data[32..64].copy_from_slice(&digest);
        }
    }
    with_digest(data)
}

pub(crate) fn u32_at(data: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(data[offset..offset + 4].try_into().unwrap())
}

pub(crate) fn put_u32(data: &mut [u8], offset: usize, value: u32) {
    data[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
}

/// The error of bytes that must be refused.
pub(crate) fn refusal(data: &[u8]) -> Error {
    match Artifact::from_bytes(data) {
        Ok(_) => panic!("accepted"),
        Err(error) => error,
    }
}

/// Fields as the error table orders them, for comparison.
pub(crate) fn int_fields<const N: usize>(fields: [(&'static str, u64); N]) -> Vec<(&'static str, Value)> {
    fields.into_iter().map(|(name, number)| (name, Value::Int(number))).collect()
}

/// `SplitMix64`: the same numbers from the same seed, everywhere.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    pub(crate) fn choice<'c, T>(&mut self, choices: &'c [T]) -> &'c T {
        &choices[self.below(choices.len())]
    }
}
