//! Texts of special tokens in what callers wrote: they are plain text always, reported or refused (contract/tokenizer.md; decisions D5).

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::error::{Error, SpecialText, Value};
use crate::error_code::ErrorCode;
use crate::ids::TokenId;
use crate::template::{Composition, Template};
use crate::tokenizer::Tokenizer;

/// What is done where the text of a special token stands in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnSpecial {
    /// It is encoded as the plain text that it is.
    Literal,
    /// It is refused (`special_token_in_text`).
    Reject,
}

impl OnSpecial {
    /// The word for it that every host uses.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "literal" => Some(Self::Literal),
            "reject" => Some(Self::Reject),
            _ => None,
        }
    }
}

impl Tokenizer<'_> {
    /// Refuse a text in which the text of a special token stands, where that is asked for.
    pub fn check_special(&self, text: &[u8], on_special: OnSpecial) -> Result<(), Error> {
        if on_special == OnSpecial::Literal {
            return Ok(());
        }
        refuse(self.special_texts(text))
    }

    /// The texts of special tokens in `text`, with their text: from the left, the longest at each place, not overlapping.
    #[must_use]
    pub fn special_texts(&self, text: &[u8]) -> Vec<SpecialText> {
        let found = self.find_special(text).into_iter();
        found.map(|found| special_text(self, None, found.start, found.id)).collect()
    }
}

impl Template<'_> {
    /// Refuse a composition with the text of a special token in a field of a caller, where that is asked for.
    pub fn check_special(&self, composition: &Composition, on_special: OnSpecial) -> Result<(), Error> {
        if on_special == OnSpecial::Literal {
            return Ok(());
        }
        refuse(self.special_texts(composition))
    }

    /// The texts of special tokens in fields of callers, with their text.
    #[must_use]
    pub fn special_texts(&self, composition: &Composition) -> Vec<SpecialText> {
        let text = |source: String, offset, id| special_text(&self.tokenizer(), Some(source), offset, id);
        let found = self.findings(composition).into_iter();
        found.map(|finding| text(finding.source.to_string(), finding.offset, finding.id)).collect()
    }
}

fn special_text(tokenizer: &Tokenizer<'_>, source: Option<String>, offset: usize, id: TokenId) -> SpecialText {
    let bytes = tokenizer.token_bytes(id.get()).unwrap_or_default();
    SpecialText { source, offset, id, text: String::from_utf8_lossy(bytes).into_owned() }
}

fn refuse(findings: Vec<SpecialText>) -> Result<(), Error> {
    if findings.is_empty() {
        return Ok(());
    }
    Err(Error::new(ErrorCode::SpecialTokenInText, [("findings", Value::Findings(findings))]))
}
