//! Tokenizer2: bytes to ids and back (contract/tokenizer.md), over a checked artifact.

mod decode;
mod merge;
mod normalize;
mod piece_cache;
mod pretoken;
mod scanner;
mod seams;
mod spans;
mod special;

use alloc::vec::Vec;

use crate::artifact::{
    Artifact, Merges, Normalization, NormalizationIndex, Pretokenizer, SpecialTokens, Vocabulary, VocabularyIndex,
};
use crate::error::Error;
use crate::ids::TokenId;
use merge::{MergeTables, Merger};
use normalize::{Normalized, Normalizer};
use piece_cache::{Key, PieceCache};

pub(crate) use decode::Meaning;
pub use decode::SpecialPolicy;
pub(crate) use merge::BytePairs;
pub(crate) use scanner::Scanner;
pub(crate) use seams::Seams;
pub use spans::Span;
pub use special::Found;

/// Whether text is normalised before it is encoded (decisions D1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Never.
    Contract,
    /// As the publisher's program does it: NFC by the artifact's tables, or not at all where it has none.
    Publisher,
}

impl Profile {
    /// The profile of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "contract" => Some(Self::Contract),
            "publisher" => Some(Self::Publisher),
            _ => None,
        }
    }
}

/// Memory that encoding works in: kept by the caller from one text to the next, one for each thread. It grows to about 2 MiB and
/// with the longest piece, and never changes what comes out.
#[derive(Default)]
pub struct Scratch {
    merger: Merger,
    cache: PieceCache,
}

/// What turns text into ids and back. A view of an artifact: cheap to make and to copy.
#[derive(Clone, Copy)]
pub struct Tokenizer<'a> {
    vocabulary: Vocabulary<'a>,
    index: &'a VocabularyIndex,
    special: &'a SpecialTokens,
    token_limit: u32,
    pretokenizer: Pretokenizer<'a>,
    scanner: Option<&'a Scanner>,
    merges: Merges<'a>,
    byte_pairs: &'a BytePairs,
    seams: &'a Seams,
    normalization: Option<(Normalization<'a>, &'a NormalizationIndex)>,
}

impl<'a> Tokenizer<'a> {
    /// The tokenizer of an artifact.
    pub fn new<B: AsRef<[u8]>>(artifact: &'a Artifact<B>) -> Self {
        Self {
            vocabulary: artifact.vocabulary(),
            index: artifact.vocabulary_index(),
            special: artifact.special(),
            token_limit: artifact.token_limit(),
            pretokenizer: artifact.pretokenizer(),
            scanner: artifact.scanner(),
            merges: artifact.merges(),
            byte_pairs: artifact.byte_pairs(),
            seams: artifact.seams(),
            normalization: artifact.normalization(),
        }
    }

    /// Ids of text. There is no way from here to the id of a special token (contract/tokenizer.md, T-1).
    #[must_use]
    pub fn encode(&self, text: &[u8], profile: Profile) -> Vec<TokenId> {
        let mut ids = Vec::new();
        self.encode_into(text, profile, &mut Scratch::default(), &mut ids);
        ids
    }

    /// Append the ids of text to `ids`, working in `scratch`.
    pub fn encode_into(&self, text: &[u8], profile: Profile, scratch: &mut Scratch, ids: &mut Vec<TokenId>) {
        match self.normalized(text, profile) {
            Some(normalized) => self.encode_normalized(&normalized.bytes, scratch, ids),
            None => self.encode_normalized(text, scratch, ids),
        }
    }

    /// Each id with the bytes of `text` that it came from (contract/tokenizer.md, offsets).
    #[must_use]
    pub fn encode_spans(&self, text: &[u8], profile: Profile) -> Vec<Span> {
        let (mut ids, mut scratch) = (Vec::new(), Scratch::default());
        if let Some(normalized) = self.normalized(text, profile) {
            self.encode_normalized(&normalized.bytes, &mut scratch, &mut ids);
            return spans::of_ids(&ids, self.vocabulary, &normalized.segments);
        }
        self.encode_normalized(text, &mut scratch, &mut ids);
        spans::of_ids(&ids, self.vocabulary, &[normalize::Segment::unchanged(0, text.len())])
    }

    /// Ids of text in which the text of a special token is that token; what lies between is encoded by itself. Never for
    /// text of others: they could write any structure.
    #[must_use]
    pub fn encode_trusted(&self, text: &[u8], profile: Profile) -> Vec<TokenId> {
        let (mut ids, mut scratch) = (Vec::new(), Scratch::default());
        let mut start = 0;
        for found in self.find_special(text) {
            self.encode_into(text.get(start..found.start).unwrap_or_default(), profile, &mut scratch, &mut ids);
            ids.push(found.id);
            start = found.end;
        }
        self.encode_into(text.get(start..).unwrap_or_default(), profile, &mut scratch, &mut ids);
        ids
    }

    /// The texts of special tokens in `text`: from the left, the longest at each place, not overlapping.
    #[must_use]
    pub fn find_special(&self, text: &[u8]) -> Vec<Found> {
        special::find(self.special, text)
    }

    /// The bytes of the tokens one after the other; nothing where an id is refused (`token_id_out_of_range`, `structural_id`).
    pub fn decode(&self, ids: &[u32], special: SpecialPolicy) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        for (position, &id) in (0..).zip(ids) {
            bytes.extend_from_slice(self.meaning(position, id)?.bytes(position, id, special)?);
        }
        Ok(bytes)
    }

    /// The bytes of a plain token or the text of a special one (`token_id_out_of_range`).
    pub fn token_bytes(&self, id: u32) -> Result<&'a [u8], Error> {
        self.meaning(0, id)?.bytes(0, id, SpecialPolicy::Bytes)
    }

    /// The plain token that has exactly these bytes.
    #[must_use]
    pub fn token_id(&self, bytes: &[u8]) -> Option<TokenId> {
        self.index.find(&self.vocabulary, bytes)
    }

    /// What the number at `position` of a sequence stands for.
    pub(crate) fn meaning(&self, position: u64, id: u32) -> Result<Meaning<'a>, Error> {
        let plain = self.vocabulary.id(id).map(|id| Meaning::Plain(self.vocabulary.token(id)));
        let special = || self.special.text(id).map(Meaning::Structural);
        plain.or_else(special).ok_or_else(|| decode::out_of_range(position, id, self.token_limit))
    }

    fn encode_normalized(&self, text: &[u8], scratch: &mut Scratch, ids: &mut Vec<TokenId>) {
        let mut rest = text;
        while !rest.is_empty() {
            let length = self.match_end(rest).clamp(1, rest.len());
            let key = Key::new(rest, length);
            if !key.is_some_and(|key| scratch.cache.append(key, ids)) {
                self.encode_piece(rest.get(..length).unwrap_or_default(), key, scratch, ids);
            }
            rest = rest.get(length..).unwrap_or_default();
        }
    }

    /// A piece that is not in the cache: part by part, where it has seams.
    #[inline(never)]
    fn encode_piece(&self, piece: &[u8], key: Option<Key>, scratch: &mut Scratch, ids: &mut Vec<TokenId>) {
        let before = ids.len();
        let mut rest = piece;
        while !rest.is_empty() {
            let length = if rest.is_ascii() { rest.len() } else { self.seams.first_part(rest) };
            let (part, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            if part.len() == piece.len() {
                self.merge(part, None, scratch, ids);
            } else {
                let key = Key::new(rest, part.len());
                if !key.is_some_and(|key| scratch.cache.append(key, ids)) {
                    self.merge(part, key, scratch, ids);
                }
            }
            rest = after;
        }
        if let (Some(key), Some(encoded)) = (key, ids.get(before..)) {
            scratch.cache.keep(key, encoded);
        }
    }

    /// Merge the bytes of a part, and keep it where it has a key.
    fn merge(&self, part: &[u8], key: Option<Key>, scratch: &mut Scratch, ids: &mut Vec<TokenId>) {
        let tables = MergeTables { merges: self.merges, byte_pairs: self.byte_pairs, vocabulary: self.vocabulary };
        let before = ids.len();
        scratch.merger.merge(tables, part, ids);
        if let (Some(key), Some(encoded)) = (key, ids.get(before..)) {
            scratch.cache.keep(key, encoded);
        }
    }

    /// Where the piece at the beginning of `text` ends.
    fn match_end(&self, text: &[u8]) -> usize {
        match self.scanner {
            Some(scanner) => scanner.match_end(text),
            None => pretoken::match_end(self.pretokenizer, text),
        }
    }

    /// The text after normalisation, where the profile has one.
    fn normalized(&self, text: &[u8], profile: Profile) -> Option<Normalized> {
        match profile {
            Profile::Contract => None,
            Profile::Publisher => {
                let (tables, index) = self.normalization.filter(|(_, index)| !index.is_stable(text))?;
                Some(Normalizer::new(tables, index).normalize(text))
            }
        }
    }
}
