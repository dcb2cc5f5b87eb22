//! Section 0x10: the special tokens. They are few, so they are copied.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::layout::{self, part, size, u32_from};
use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::ids::TokenId;

const MAX_COUNT: u32 = 4096;
const MAX_TEXT_BYTES: usize = 255;

/// A special token.
pub(crate) struct SpecialToken {
    pub(crate) id: TokenId,
    pub(crate) text: Box<[u8]>,
}

/// The special tokens of a checked section, to be found by id.
pub(crate) struct SpecialTokens {
    by_id: Vec<SpecialToken>,
}

impl SpecialTokens {
    /// Step 5 of the order of checks.
    #[inline(never)]
    pub(crate) fn check(section: &[u8], vocabulary_size: u32) -> Result<Self, Error> {
        let by_id = parse(section, vocabulary_size)?;
        Ok(Self { by_id })
    }

    /// All of them, ids rising.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &SpecialToken> {
        self.by_id.iter()
    }

    /// The text of the token of a number.
    pub(crate) fn text(&self, number: u32) -> Option<&[u8]> {
        let place = self.by_id.binary_search_by_key(&number, |token| token.id.get()).ok()?;
        self.by_id.get(place).map(|token| &*token.text)
    }
}

/// The tokens, ids rising.
fn parse(section: &[u8], vocabulary_size: u32) -> Result<Vec<SpecialToken>, Error> {
    let Some(count) = u32_from(section, 0) else { return Err(length_error(section, 4)) };
    if count > MAX_COUNT {
        let fields = [("found", count.into()), ("maximum", MAX_COUNT.into())];
        return Err(Error::new(ErrorCode::ArtifactSpecialCount, fields));
    }
    let mut tokens: Vec<SpecialToken> = Vec::new();
    let mut lowest = vocabulary_size;
    let mut rest = section.get(4..).unwrap_or_default();
    for index in 0..count {
        let (text, id, after) = split(section, rest)?;
        if !(1..=MAX_TEXT_BYTES).contains(&text.len()) || core::str::from_utf8(text).is_err() {
            return Err(Error::new(ErrorCode::ArtifactSpecialText, [("index", index.into())]));
        }
        if !(lowest..=layout::MAX_ID).contains(&id) {
            return Err(Error::new(ErrorCode::ArtifactSpecialId, [("index", index.into()), ("id", id.into())]));
        }
        // At most 4,096 texts, nearly all of which differ in their lengths or first bytes.
        if let Some(earlier) = tokens.iter().position(|earlier| *earlier.text == *text) {
            let fields = [("index", index.into()), ("earlier", earlier.into())];
            return Err(Error::new(ErrorCode::ArtifactSpecialDuplicate, fields));
        }
        tokens.push(SpecialToken { id: TokenId::new(id), text: Box::from(text) });
        lowest = id + 1;
        rest = after;
    }
    if !rest.is_empty() {
        return Err(length_error(section, size(section) - size(rest)));
    }
    Ok(tokens)
}

/// Text and id of the token at the beginning of `rest`, the end of the section, and what comes after.
fn split<'a>(section: &'a [u8], rest: &'a [u8]) -> Result<(&'a [u8], u32, &'a [u8]), Error> {
    // Where the length itself is cut off, a token of no length is what would have to fit.
    let mut end = 8;
    if size(rest) >= end {
        end += u64::from(u32_from(rest, 0).unwrap_or(0));
    }
    if end > size(rest) {
        return Err(length_error(section, size(section) - size(rest) + end));
    }
    let id = u32_from(part(rest, end - 4, end), 0).unwrap_or(0);
    Ok((part(rest, 4, end - 4), id, part(rest, end, size(rest))))
}

fn length_error(section: &[u8], expected: u64) -> Error {
    let fields = [("found", section.len().into()), ("expected", expected.into())];
    Error::new(ErrorCode::ArtifactSpecialLength, fields)
}
