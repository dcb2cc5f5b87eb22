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
