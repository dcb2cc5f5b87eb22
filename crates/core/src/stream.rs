//! The strict streaming decoder (contract/stream.md, decisions D12).

use alloc::string::String;
use alloc::vec::Vec;

use crate::artifact::hex;
use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::tokenizer::{Meaning, SpecialPolicy, Tokenizer};

/// Ids to text: text comes out as soon as a scalar value is complete, never earlier or later, however the ids are grouped.
///
/// It holds no artifact, so that a host can keep it apart: each call of a stream must bring the same artifact's tokenizer.
#[derive(Clone, Debug)]
pub struct StreamDecoder {
    special: SpecialPolicy,
    /// Ids taken so far.
    position: u64,
    /// Bytes that have come and were not delivered.
    pending: Vec<u8>,
    closed: bool,
}

impl StreamDecoder {
    /// A decoder at the beginning of a stream.
    #[must_use]
    pub const fn new(special: SpecialPolicy) -> Self {
        Self { special, position: 0, pending: Vec::new(), closed: false }
    }

    /// How many ids were taken; after a failure, where the id stands at which it failed.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Bytes that have come and were not delivered: an open scalar value, or what made the decoder fail.
    #[must_use]
    pub fn pending(&self) -> &[u8] {
        &self.pending
    }

    /// Text that became complete with `ids`.
    ///
    /// `token_id_out_of_range` and `structural_id` leave the decoder as it was before the call. `ill_formed_text` ends the
    /// stream and carries the text of this call; from then on all is `stream_closed`.
    pub fn push(&mut self, tokenizer: &Tokenizer<'_>, ids: &[u32]) -> Result<String, Error> {
        self.check_open()?;
        let mut after = self.clone();
        let mut text = String::new();
        let mut failure = None;
        for (position, &id) in (self.position..).zip(ids) {
            let meaning = tokenizer.meaning(position, id)?;
            // What comes after a failure is looked up, and takes no part.
            if failure.is_some() {
                continue;
            }
            if !after.take(meaning, position, id, &mut text)? {
                failure = Some(id);
            }
        }
        *self = after;
        match failure {
            Some(id) => Err(self.ill_formed(id, text)),
            None => Ok(text),
        }
    }

    /// End the stream: `unfinished_text` where a scalar value is open.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.check_open()?;
        self.closed = true;
        if self.pending.is_empty() {
            return Ok(());
        }
        let fields = [("position", self.position.into()), ("pending", hex(&self.pending, "").into())];
        Err(Error::new(ErrorCode::UnfinishedText, fields))
    }

    /// Take one id; whether the text can still become well formed.
    fn take(&mut self, meaning: Meaning<'_>, position: u64, id: u32, text: &mut String) -> Result<bool, Error> {
        let inside = matches!(meaning, Meaning::Structural(_)) && !self.pending.is_empty();
        let well_formed = !inside && {
            self.pending.extend_from_slice(meaning.bytes(position, id, self.special)?);
            self.deliver(text)
        };
        if well_formed {
            self.position += 1;
        } else {
            self.closed = true;
        }
        Ok(well_formed)
    }

    /// Move the scalar values that are complete into `text`; whether what stays can become one.
    fn deliver(&mut self, text: &mut String) -> bool {
        let (complete, open) = match core::str::from_utf8(&self.pending) {
            Ok(_) => (self.pending.len(), true),
            // No length of the error: the end came too early, as Unicode table 3-7 has it.
            Err(error) => (error.valid_up_to(), error.error_len().is_none()),
        };
        // These bytes were found well formed.
        text.push_str(
            self.pending.get(..complete).and_then(|bytes| core::str::from_utf8(bytes).ok()).unwrap_or_default(),
        );
        self.pending.drain(..complete);
        open
    }

    fn check_open(&self) -> Result<(), Error> {
        if self.closed {
            return Err(Error::new(ErrorCode::StreamClosed, [("position", self.position.into())]));
        }
        Ok(())
    }

    fn ill_formed(&self, id: u32, text: String) -> Error {
        let fields = [
            ("position", self.position.into()),
            ("id", id.into()),
            ("text", text.into()),
            ("pending", hex(&self.pending, "").into()),
        ];
        Error::new(ErrorCode::IllFormedText, fields)
    }
}
