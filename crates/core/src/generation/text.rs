//! The text of ids that were drawn, until something ends it, and why it ended (contract/sampling.md, S-80 to S-84).

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::stop_strings::StopStrings;
use crate::error::{Error, Value};
use crate::error_code::ErrorCode;
use crate::sampling::GenerationConfig;
use crate::stream::StreamDecoder;
use crate::tokenizer::{SpecialPolicy, Tokenizer};

/// Why a generation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// An id of `stop_ids` was drawn.
    StopToken,
    /// `max_tokens` ids were drawn.
    MaxTokens,
    /// A string of `stop_strings` is complete.
    StopString,
    /// The bytes cannot become UTF-8, or a limit was met inside a scalar value.
    FatalError,
}

impl EndReason {
    /// The word for it that every host uses.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::StopToken => "StopToken",
            Self::MaxTokens => "MaxTokens",
            Self::StopString => "StopString",
            Self::FatalError => "FatalError",
        }
    }
}

/// Ids in, text as soon as it is complete, until something ends it.
///
/// It holds no artifact: each call must bring the same artifact's tokenizer.
#[derive(Clone, Debug)]
pub struct GeneratedText {
    decoder: StreamDecoder,
    strings: StopStrings,
    stop_ids: Vec<u32>,
    max_tokens: u32,
    ids: Vec<u32>,
    text: String,
    reason: Option<EndReason>,
    stopped_by: Option<EndReason>,
    refused: Option<ErrorCode>,
}

impl GeneratedText {
    /// Nothing yet; of a configuration only what ends a generation is looked at.
    #[must_use]
    pub fn new(config: &GenerationConfig, special: SpecialPolicy) -> Self {
        Self {
            decoder: StreamDecoder::new(special),
            strings: StopStrings::new(config.stop_strings.clone()),
            stop_ids: config.stop_ids.clone(),
            max_tokens: config.max_tokens,
            ids: Vec::new(),
            text: String::new(),
            reason: None,
            stopped_by: None,
            refused: None,
        }
    }

    /// `generation_ended` where it has.
    pub fn check_open(&self) -> Result<(), Error> {
        let refused = self.refused.map(ErrorCode::as_str);
        match self.reason.map(EndReason::as_str).or(refused) {
            None => Ok(()),
            Some(reason) => Err(Error::new(ErrorCode::GenerationEnded, [("reason", reason.into())])),
        }
    }

    /// Take an id that was drawn: the text that is delivered with it; [`Self::reason`] then says whether that was the end.
    ///
    /// `generation_ended`, which changes nothing; `structural_id` and `token_id_out_of_range` of an id that the stream decoder refuses,
    /// which end it without a reason (S-82).
    pub fn take(&mut self, tokenizer: &Tokenizer<'_>, id: u32) -> Result<String, Error> {
        self.check_open()?;
        self.ids.push(id);
        let taken = self.text_of(tokenizer, id);
        let mut text = taken.as_ref().cloned().unwrap_or_default();
        // What was held back is part of what was generated, but for a string that ends it.
        if (self.reason.is_some() && self.stopped_by != Some(EndReason::StopString)) || taken.is_err() {
            text.push_str(&self.strings.release());
        }
        self.text.push_str(&text);
        taken.map(|_| text)
    }

    fn text_of(&mut self, tokenizer: &Tokenizer<'_>, id: u32) -> Result<String, Error> {
        if self.stop_ids.contains(&id) {
            self.end(EndReason::StopToken);
            return Ok(String::new());
        }
        let (text, failed) = match self.decoder.push(tokenizer, &[id]) {
            Ok(text) => (text, false),
            Err(error) if error.code == ErrorCode::IllFormedText => (text_before(error), true),
            Err(error) => {
                self.refused = Some(error.code);
                return Err(error);
            }
        };
        let text = self.strings.push(&text);
        if self.strings.found().is_some() {
            self.stopped_by = Some(EndReason::StopString);
        } else if self.ids.len() as u64 == u64::from(self.max_tokens) {
            self.stopped_by = Some(EndReason::MaxTokens);
        }
        match self.stopped_by {
            _ if failed => self.reason = Some(EndReason::FatalError),
            Some(EndReason::StopString) => self.reason = Some(EndReason::StopString),
            Some(limit) => self.end(limit),
            None => {}
        }
        Ok(text)
    }

    /// Meet a limit; an open scalar value makes it fatal.
    fn end(&mut self, limit: EndReason) {
        self.stopped_by = Some(limit);
        self.reason = Some(if self.decoder.finish().is_ok() { limit } else { EndReason::FatalError });
    }

    /// All ids that were taken, one that stopped it included.
    #[must_use]
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// All text that was delivered.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Why it ended; `None` where it goes on, and where an id was refused.
    #[must_use]
    pub const fn reason(&self) -> Option<EndReason> {
        self.reason
    }

    /// The limit that was met, also where the reason is `FatalError`.
    #[must_use]
    pub const fn stopped_by(&self) -> Option<EndReason> {
        self.stopped_by
    }

    /// Which string ended it.
    #[must_use]
    pub fn stop_string(&self) -> Option<&str> {
        self.strings.found()
    }

    /// Bytes that came and are no text: an open scalar value, or what made the stream fail.
    #[must_use]
    pub fn pending(&self) -> &[u8] {
        if self.reason == Some(EndReason::StopString) { &[] } else { self.decoder.pending() }
    }
}

/// What became complete before a stream failed.
fn text_before(error: Error) -> String {
    let text = error.fields.into_iter().find(|(name, _)| *name == "text");
    text.map_or_else(String::new, |(_, value)| if let Value::Text(text) = value { text } else { value.to_string() })
}
