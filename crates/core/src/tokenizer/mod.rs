//! Tokenizer2: bytes to ids and back (contract/tokenizer.md), over a checked artifact.

mod blocks;
mod characters;
mod chunks;
mod clause_cache;
mod decode;
mod found;
mod key;
mod kinds;
mod known_dfa;
mod learn;
mod merge;
mod normalize;
mod piece_cache;
mod piece_ends;
mod pieces;
mod scan;
mod scanner;
mod scratch;
mod seams;
mod sink;
mod spans;
mod special;
mod tournament;

use alloc::string::String;
use alloc::vec::Vec;

use crate::artifact::{
    Artifact, Facts, Merges, Normalization, NormalizationIndex, SpecialTokens, Vocabulary, VocabularyIndex, hex,
};
use crate::error::Error;
use crate::ids::TokenId;
use merge::MergeTables;
use normalize::{Normalized, Normalizer, Segment};
use sink::{Collect, Count, Fill, Sink};

pub use chunks::{ChunkEncoder, GrowingText, Growth};
use decode::Gathered;
pub(crate) use decode::Meaning;
pub use decode::SpecialPolicy;
pub(crate) use key::{Key, SHORT, hash_of};
pub(crate) use merge::BytePairs;
pub(crate) use scanner::Scanner;
pub use scratch::Scratch;
pub(crate) use seams::Seams;
pub use spans::{Span, Unit};
pub use special::Found;
pub(crate) use special::SpecialAutomaton;

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

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Contract => "contract",
            Self::Publisher => "publisher",
        }
    }
}

/// What turns text into ids and back. A view of an artifact: cheap to make and to copy.
#[derive(Clone, Copy)]
pub struct Tokenizer<'a> {
    vocabulary: Vocabulary<'a>,
    index: &'a VocabularyIndex,
    special: &'a SpecialTokens,
    special_automaton: &'a SpecialAutomaton,
    token_limit: u32,
    /// The semantic digest.
    digest: &'a [u8; 32],
    scanner: &'a Scanner,
    facts: Facts<'a>,
    merges: Merges<'a>,
    byte_pairs: &'a BytePairs,
    seams: &'a Seams,
    normalization: Option<(Normalization<'a>, &'a NormalizationIndex)>,
}

impl<'a> Tokenizer<'a> {
    /// The tokenizer of an artifact.
    #[inline(never)]
    pub fn new<B: AsRef<[u8]>>(artifact: &'a Artifact<B>) -> Self {
        Self {
            vocabulary: artifact.vocabulary(),
            index: artifact.vocabulary_index(),
            special: artifact.special(),
            special_automaton: artifact.special_automaton(),
            token_limit: artifact.token_limit(),
            digest: artifact.digest(),
            scanner: artifact.scanner(),
            facts: artifact.facts(),
            merges: artifact.merges(),
            byte_pairs: artifact.byte_pairs(),
            seams: artifact.seams(),
            normalization: artifact.normalization(),
        }
    }

    /// The semantic digest of the artifact, hex.
    pub(crate) fn digest_text(&self) -> String {
        hex(self.digest, "")
    }

    /// Ids of text. There is no way from here to the id of a special token (contract/tokenizer.md, T-1).
    pub fn encode(&self, text: &[u8], profile: Profile, scratch: &mut Scratch) -> Result<Vec<TokenId>, Error> {
        let mut ids = Vec::new();
        self.encode_into(text, profile, scratch, &mut ids)?;
        Ok(ids)
    }

    /// Append the ids of text to `ids`; in a failure nothing is appended.
    pub fn encode_into(
        &self,
        text: &[u8],
        profile: Profile,
        scratch: &mut Scratch,
        ids: &mut Vec<TokenId>,
    ) -> Result<(), Error> {
        let before = ids.len();
        let encoded = self.encode_to(text, profile, scratch, &mut Collect(ids));
        if encoded.is_err() {
            ids.truncate(before);
        }
        encoded
    }

    /// Write the ids of text to the beginning of `out`; how many they are. A text has at most as many ids as bytes, and in profile
    /// `publisher` at most three times as many. `output_too_small` says how many there are; what `out` then holds is not said.
    pub fn encode_to_slice(
        &self,
        text: &[u8],
        profile: Profile,
        scratch: &mut Scratch,
        out: &mut [TokenId],
    ) -> Result<usize, Error> {
        let mut fill = Fill::new(out);
        self.encode_to(text, profile, scratch, &mut fill)?;
        fill.finish()
    }

    /// How many ids a text has.
    pub fn count(&self, text: &[u8], profile: Profile, scratch: &mut Scratch) -> Result<usize, Error> {
        let mut count = Count::up_to(usize::MAX);
        self.encode_to(text, profile, scratch, &mut count)?;
        Ok(count.count)
    }

    /// How many ids a text has, where they are not more than `limit`; else `None`, and what comes after is not looked at.
    pub fn count_until(
        &self,
        text: &[u8],
        profile: Profile,
        limit: usize,
        scratch: &mut Scratch,
    ) -> Result<Option<usize>, Error> {
        let mut count = Count::up_to(limit);
        let encoded = self.encode_to(text, profile, scratch, &mut count);
        // What comes after the limit was passed is not refused either.
        let within = count.within();
        if within.is_some() { encoded.map(|()| within) } else { Ok(None) }
    }

    /// Each id with the range of `text` that it came from, in a unit (contract/tokenizer.md, offsets).
    pub fn encode_spans(
        &self,
        text: &[u8],
        profile: Profile,
        unit: Unit,
        scratch: &mut Scratch,
    ) -> Result<Vec<Span>, Error> {
        let mut spans = self.byte_spans(text, profile, scratch)?;
        spans::in_unit(&mut spans, text, unit);
        Ok(spans)
    }

    fn byte_spans(&self, text: &[u8], profile: Profile, scratch: &mut Scratch) -> Result<Vec<Span>, Error> {
        scratch.belong_to(self);
        let mut ids = Vec::new();
        let normalizer =
            self.normalizer(profile).filter(|normalizer| !normalizer.is_stable(text, scratch.max_pretoken));
        let Some(normalizer) = normalizer else {
            self.encode_text(text, scratch, &mut Collect(&mut ids))?;
            return Ok(spans::of_ids(&ids, self.vocabulary, &[Segment::unchanged(0, text.len())]));
        };
        let mut nfc = Normalized::with_segments();
        let done = normalizer.normalize(text, scratch.max_pretoken, &mut nfc);
        self.encode_pieces(&nfc.bytes, done.is_ok(), &mut None, 0, scratch, &mut Collect(&mut ids))?;
        done?;
        Ok(spans::of_ids(&ids, self.vocabulary, &nfc.segments.unwrap_or_default()))
    }

    /// Ids of text in which the text of a special token is that token; what lies between is encoded by itself. Never for
    /// text of others: they could write any structure.
    pub fn encode_trusted(&self, text: &[u8], profile: Profile, scratch: &mut Scratch) -> Result<Vec<TokenId>, Error> {
        let mut ids = Vec::new();
        let mut start = 0;
        for found in self.special_automaton.find(text) {
            self.encode_into(text.get(start..found.start).unwrap_or_default(), profile, scratch, &mut ids)?;
            ids.push(found.id);
            start = found.end;
        }
        self.encode_into(text.get(start..).unwrap_or_default(), profile, scratch, &mut ids)?;
        Ok(ids)
    }

    /// The texts of special tokens in `text`: from the left, the longest at each place, not overlapping.
    #[must_use]
    pub fn find_special(&self, text: &[u8]) -> Vec<Found> {
        self.special_automaton.find(text).collect()
    }

    /// The bytes of the tokens one after the other; nothing where an id is refused (`token_id_out_of_range`, `structural_id`).
    pub fn decode(&self, ids: &[u32], special: SpecialPolicy) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        self.decode_into(ids.iter().copied(), special, &mut bytes)?;
        Ok(bytes)
    }

    /// Append the bytes of the tokens; in a failure nothing is appended.
    pub fn decode_into(
        &self,
        ids: impl Iterator<Item = u32>,
        special: SpecialPolicy,
        bytes: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let before = bytes.len();
        // Four bytes a token is usual; what is more makes the memory grow.
        bytes.reserve(4 * ids.size_hint().0);
        let mut gathered = Gathered::default();
        let mut ids = (0..).zip(ids);
        while let Some((position, id)) = gathered.take_while(&mut ids, |id| self.vocabulary.sixteen(id)) {
            gathered.flush(bytes);
            match self.meaning(position, id).and_then(|meaning| meaning.bytes(position, id, special)) {
                Ok(text) => bytes.extend_from_slice(text),
                Err(error) => {
                    bytes.truncate(before);
                    return Err(error);
                }
            }
        }
        gathered.flush(bytes);
        Ok(())
    }

    /// The bytes of a plain token or the text of a special one (`token_id_out_of_range`).
    pub fn token_bytes(&self, id: u32) -> Result<&'a [u8], Error> {
        self.meaning(0, id)?.bytes(0, id, SpecialPolicy::Bytes)
    }

    /// How many bytes a plain token has.
    pub(crate) fn token_length(&self, id: TokenId) -> usize {
        self.vocabulary.token(id).len()
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

    /// Ids of text. Text that normalisation may change goes through in parts, so that no copy of all of it is made.
    fn encode_to(
        &self,
        text: &[u8],
        profile: Profile,
        scratch: &mut Scratch,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        let normalizer =
            self.normalizer(profile).filter(|normalizer| !normalizer.is_stable(text, scratch.max_pretoken));
        if normalizer.is_some() {
            let mut chunks = ChunkEncoder::new(profile);
            chunks.push_to(self, text, scratch, sink)?;
            return chunks.finish_to(self, scratch, sink);
        }
        scratch.belong_to(self);
        self.encode_text(text, scratch, sink)
    }

    /// What normalises in a profile, where there is something.
    fn normalizer(&self, profile: Profile) -> Option<Normalizer<'a>> {
        match profile {
            Profile::Contract => None,
            Profile::Publisher => self.normalization.map(|(tables, index)| Normalizer::new(tables, index)),
        }
    }
}
