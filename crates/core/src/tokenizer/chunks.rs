//! Text that arrives in parts, cut anywhere, with the ids of the whole (contract/tokenizer.md, text in parts).
//!
//! A piece is encoded once the automaton has seen where it ends, whatever comes after. What waits is the piece that is not decided, and
//! in profile `publisher` before it the stretch that is not normalised: the look-back is that and no more.

use alloc::vec::Vec;

use super::normalize::{Normalized, too_long};
use super::scanner::Progress;
use super::sink::{Collect, Sink};
use super::{Profile, Scratch, Tokenizer};
use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::ids::TokenId;

/// Bytes that are taken in at a time, so that what waits does not grow with the size of a part.
const BLOCK: usize = 1 << 16;

/// Encodes a text that arrives in parts.
///
/// It holds no artifact, so that a host can keep it apart: each call must bring the same artifact's tokenizer.
#[derive(Clone)]
pub struct ChunkEncoder {
    profile: Profile,
    /// Bytes that are not normalised yet, and how far they were looked through.
    raw: Vec<u8>,
    looked_through: usize,
    /// Normalised bytes that are not encoded yet: they begin with a piece.
    text: Vec<u8>,
    progress: Option<Progress>,
    /// Normalised bytes before `text`.
    encoded: usize,
    closed: bool,
}

impl ChunkEncoder {
    /// An encoder before the first byte.
    #[must_use]
    pub const fn new(profile: Profile) -> Self {
        Self {
            profile,
            raw: Vec::new(),
            looked_through: 0,
            text: Vec::new(),
            progress: None,
            encoded: 0,
            closed: false,
        }
    }

    /// How many bytes wait; none after a refusal.
    #[must_use]
    pub fn pending(&self) -> usize {
        if self.closed { 0 } else { self.raw.len() + self.text.len() }
    }

    /// Append the ids that are certain with these bytes.
    ///
    /// `pretoken_too_long` ends the text: what was certain before it has been appended, and from then on all is `text_closed`.
    pub fn push(
        &mut self,
        tokenizer: &Tokenizer<'_>,
        bytes: &[u8],
        scratch: &mut Scratch,
        ids: &mut Vec<TokenId>,
    ) -> Result<(), Error> {
        self.check_open()?;
        let pushed = self.push_to(tokenizer, bytes, scratch, &mut Collect(ids));
        self.closed = pushed.is_err();
        pushed
    }

    /// End the text: append the ids of what waited.
    pub fn finish(
        &mut self,
        tokenizer: &Tokenizer<'_>,
        scratch: &mut Scratch,
        ids: &mut Vec<TokenId>,
    ) -> Result<(), Error> {
        self.check_open()?;
        self.closed = true;
        self.finish_to(tokenizer, scratch, &mut Collect(ids))
    }

    /// Append the ids that what waits would have if the text ended here; it goes on all the same.
    pub fn rest(&self, tokenizer: &Tokenizer<'_>, scratch: &mut Scratch, ids: &mut Vec<TokenId>) -> Result<(), Error> {
        self.check_open()?;
        let mut copy = self.clone();
        copy.finish_to(tokenizer, scratch, &mut Collect(ids))
    }

    /// Whether the same waits in both, so that the same bytes make the same ids from here on.
    pub(crate) fn goes_on_as(&self, other: &Self) -> bool {
        self.raw == other.raw && self.text == other.text
    }

    pub(super) fn push_to(
        &mut self,
        tokenizer: &Tokenizer<'_>,
        bytes: &[u8],
        scratch: &mut Scratch,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        scratch.belong_to(tokenizer);
        for block in bytes.chunks(BLOCK) {
            let taken_in = self.take_in(tokenizer, block, scratch);
            // First what comes before, where a stretch is refused: of two refusals the first in the text counts.
            self.encode_certain(tokenizer, scratch, sink)?;
            taken_in?;
        }
        Ok(())
    }

    pub(super) fn finish_to(
        &mut self,
        tokenizer: &Tokenizer<'_>,
        scratch: &mut Scratch,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        scratch.belong_to(tokenizer);
        let raw = core::mem::take(&mut self.raw);
        if let Err(error) = self.normalize(tokenizer, &raw, scratch.max_pretoken) {
            self.encode_certain(tokenizer, scratch, sink)?;
            return Err(error);
        }
        tokenizer.encode_pieces(&self.text, true, &mut self.progress, self.encoded, scratch, sink)?;
        self.text.clear();
        Ok(())
    }

    /// Bytes become normalised text, as far as that is certain.
    fn take_in(&mut self, tokenizer: &Tokenizer<'_>, block: &[u8], scratch: &Scratch) -> Result<(), Error> {
        let Some(normalizer) = tokenizer.normalizer(self.profile) else {
            self.text.extend_from_slice(block);
            return Ok(());
        };
        self.raw.extend_from_slice(block);
        let settled = normalizer.settled(&self.raw, self.looked_through);
        self.looked_through = settled.reached;
        let stretch = settled.end.unwrap_or(0);
        if stretch > 0 {
            let mut raw = core::mem::take(&mut self.raw);
            self.normalize(tokenizer, raw.get(..stretch).unwrap_or_default(), scratch.max_pretoken)?;
            raw.drain(..stretch);
            self.looked_through -= stretch;
            self.raw = raw;
        }
        if settled.last.saturating_sub(stretch) > scratch.max_pretoken {
            return Err(too_long(self.encoded + self.text.len(), scratch.max_pretoken));
        }
        Ok(())
    }

    fn normalize(&mut self, tokenizer: &Tokenizer<'_>, raw: &[u8], limit: usize) -> Result<(), Error> {
        let Some(normalizer) = tokenizer.normalizer(self.profile) else { return Ok(()) };
        if normalizer.is_stable(raw, limit) {
            self.text.extend_from_slice(raw);
            return Ok(());
        }
        let mut text = Normalized::after(core::mem::take(&mut self.text));
        let done = normalizer.normalize(raw, limit, &mut text);
        self.text = text.bytes;
        done.map_err(|error| shifted(error, self.encoded))
    }

    fn encode_certain(
        &mut self,
        tokenizer: &Tokenizer<'_>,
        scratch: &mut Scratch,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        let encoded = tokenizer.encode_pieces(&self.text, false, &mut self.progress, self.encoded, scratch, sink)?;
        self.text.drain(..encoded);
        self.encoded += encoded;
        Ok(())
    }

    fn check_open(&self) -> Result<(), Error> {
        if self.closed { Err(Error::new(ErrorCode::TextClosed, [])) } else { Ok(()) }
    }
}

/// The same error further on in the text.
fn shifted(mut error: Error, by: usize) -> Error {
    for (name, value) in &mut error.fields {
        if let (&mut "start", crate::error::Value::Int(start)) = (name, value) {
            *start += by as u64;
        }
    }
    error
}

/// A text that grows at its end, with its ids (contract/tokenizer.md, text that grows).
#[derive(Clone)]
pub struct GrowingText {
    chunks: ChunkEncoder,
    /// Ids that no further text changes.
    certain: usize,
    /// The ids after them.
    tail: Vec<TokenId>,
}

/// How the ids of a text change: the first `keep` stay, what comes after them goes, `ids` come in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growth {
    /// How many ids stay.
    pub keep: usize,
    /// The ids after them.
    pub ids: Vec<TokenId>,
}

impl GrowingText {
    /// The empty text.
    #[must_use]
    pub const fn new(profile: Profile) -> Self {
        Self { chunks: ChunkEncoder::new(profile), certain: 0, tail: Vec::new() }
    }

    /// How many ids the text has.
    #[must_use]
    pub fn count(&self) -> usize {
        self.certain + self.tail.len()
    }

    /// How many bytes wait for what comes after them.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.chunks.pending()
    }

    /// Append text. It costs what waits and what is new, and not what came before; a failure leaves all as it was.
    pub fn append(&mut self, tokenizer: &Tokenizer<'_>, bytes: &[u8], scratch: &mut Scratch) -> Result<Growth, Error> {
        let mut chunks = self.chunks.clone();
        let mut ids = Vec::new();
        chunks.push(tokenizer, bytes, scratch, &mut ids)?;
        let certain = ids.len();
        chunks.rest(tokenizer, scratch, &mut ids)?;
        let same = self.tail.iter().zip(&ids).take_while(|(before, after)| before == after).count();
        let keep = self.certain + same;
        self.chunks = chunks;
        self.certain += certain;
        self.tail = ids.split_off(certain);
        let tail = self.tail.clone();
        ids.extend(tail);
        ids.drain(..same);
        Ok(Growth { keep, ids })
    }
}
