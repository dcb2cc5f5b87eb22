//! Each id with the bytes of the caller's text that it came from (contract/tokenizer.md, offsets).

use alloc::vec::Vec;

use super::normalize::Segment;
use crate::artifact::Vocabulary;
use crate::ids::TokenId;

/// A token, and the bytes `start..end` of the caller's text that it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The token.
    pub id: TokenId,
    /// Where the source begins.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// What offsets count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Scalar values, as in a `str` of Python; ill-formed bytes count as the U+FFFD that would stand for them.
    CodePoints,
    /// Units of UTF-16, as in a string of JavaScript or .NET.
    Utf16,
}

impl Unit {
    /// The unit of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "bytes" => Some(Self::Bytes),
            "code_points" => Some(Self::CodePoints),
            "utf16" => Some(Self::Utf16),
            _ => None,
        }
    }

    /// How many of it the character has that begins with this byte.
    const fn of_lead(self, lead: u8, length: usize) -> usize {
        match self {
            Self::Bytes => length,
            Self::Utf16 if lead >= 0xF0 && length == 4 => 2,
            Self::CodePoints | Self::Utf16 => 1,
        }
    }
}

/// Count the offsets of spans of `text` in a unit: what begins or ends inside a character takes in the whole of it.
pub(crate) fn in_unit(spans: &mut [Span], text: &[u8], unit: Unit) {
    if unit == Unit::Bytes || text.is_ascii() {
        return;
    }
    // The bytes that characters are looked for of: spans rise, but for marks that change places.
    let mut bytes: Vec<usize> = spans.iter().flat_map(|span| [span.start, span.end.saturating_sub(1)]).collect();
    bytes.sort_unstable();
    bytes.dedup();
    let characters = characters_of(&bytes, text, unit);
    let character = |byte: usize| {
        let place = bytes.binary_search(&byte).unwrap_or(0);
        characters.get(place).copied().unwrap_or_default()
    };
    for span in spans {
        let (first, last) = (character(span.start), character(span.end.saturating_sub(1)));
        (span.start, span.end) = (first.0, last.1);
    }
}

/// For each of the bytes, which rise: the units before the character that holds it, and with it.
fn characters_of(bytes: &[usize], text: &[u8], unit: Unit) -> Vec<(usize, usize)> {
    let (mut start, mut before) = (0, 0);
    let mut length = character_length(text);
    let units = |start: usize, length| unit.of_lead(text.get(start).copied().unwrap_or(0), length);
    let character = |&byte: &usize| {
        while byte >= start + length && start + length < text.len() {
            before += units(start, length);
            start += length;
            length = character_length(text.get(start..).unwrap_or_default());
        }
        (before, before + units(start, length))
    };
    bytes.iter().map(character).collect()
}

/// The length of the first character of a text: a scalar value, or what one U+FFFD stands for where it is ill formed; 1 where there is
/// none.
fn character_length(text: &[u8]) -> usize {
    let head = text.get(..text.len().min(4)).unwrap_or_default();
    let chunk = head.utf8_chunks().next();
    let first = chunk.as_ref().and_then(|chunk| chunk.valid().chars().next()).map(char::len_utf8);
    first.or(chunk.map(|chunk| chunk.invalid().len())).unwrap_or(0).max(1)
}

/// The spans of `ids`, which encode the text that `segments` describe.
pub(crate) fn of_ids(ids: &[TokenId], vocabulary: Vocabulary<'_>, segments: &[Segment]) -> Vec<Span> {
    let mut sources = Sources { segments: segments.iter(), current: Segment::unchanged(0, 0) };
    let span = |&id| {
        let (start, end) = sources.take(vocabulary.token(id).len());
        Span { id, start, end }
    };
    ids.iter().map(span).collect()
}

/// Walks the segments as tokens use them up.
struct Sources<'s> {
    segments: core::slice::Iter<'s, Segment>,
    /// What is left of the segment at hand.
    current: Segment,
}

impl Sources<'_> {
    /// The least source range of the next `length` bytes.
    fn take(&mut self, length: usize) -> (usize, usize) {
        let (mut start, mut end) = (usize::MAX, 0);
        let mut rest = length;
        while rest > 0 {
            if self.current.length == 0 {
                let Some(&next) = self.segments.next() else { break };
                self.current = next;
                continue;
            }
            let taken = self.current.split_off(rest);
            start = start.min(taken.start);
            end = end.max(taken.end);
            rest -= taken.length;
        }
        (start.min(end), end)
    }
}
