//! Items to ids, each with its origin, and what was found in callers' text (contract/template.md, M-60 to M-72).

use alloc::string::String;
use alloc::vec::Vec;

use super::Template;
use super::compose::{Composition, Item, What};
use super::messages::Source;
use crate::artifact::template::PARTS;
use crate::error::Error;
use crate::ids::TokenId;
use crate::tokenizer::{Profile, Scratch, Unit};

/// One id of a prompt and where it came from (M-62 to M-65).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The id.
    pub id: TokenId,
    /// Of the message that brought it.
    pub role: &'static str,
    /// Which part of the message.
    pub part: &'static str,
    /// The lowest class among the pieces that the token touches.
    pub trust: &'static str,
    /// Index of the message; `None` where no message brought it.
    pub message: Option<u32>,
    /// Source and bytes `start..end` of each piece that the token touches.
    pub ranges: Vec<(Source, usize, usize)>,
}

/// Text of a special token in a caller's text, where it is plain text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The field.
    pub source: Source,
    /// Byte offset in it.
    pub offset: usize,
    /// The special token.
    pub id: TokenId,
}

/// Lower classes are greater.
const fn class(item: &Item) -> u8 {
    match item.what {
        What::Mark(_) | What::Literal(_) | What::Field(Source::Program, ..) => 0,
        What::Field(Source::Tool(_), ..) => 1,
        What::Field(..) => 2,
    }
}

const TRUST: [&str; 3] = ["program", "application", "untrusted"];

impl Template<'_> {
    /// The ids of a composition, appended to `ids`, working in `scratch`; in a failure (`pretoken_too_long`) nothing is appended.
    pub fn ids_into(
        &self,
        composition: &Composition,
        profile: Profile,
        scratch: &mut Scratch,
        ids: &mut Vec<TokenId>,
    ) -> Result<(), Error> {
        let before = ids.len();
        let encoded = self.append_ids(composition, profile, scratch, ids);
        if encoded.is_err() {
            ids.truncate(before);
        }
        encoded
    }

    fn append_ids(
        &self,
        composition: &Composition,
        profile: Profile,
        scratch: &mut Scratch,
        ids: &mut Vec<TokenId>,
    ) -> Result<(), Error> {
        let mut text = Vec::new();
        for item in &composition.items {
            match item.what {
                What::Mark(mark) => {
                    self.tokenizer.encode_into(&text, profile, scratch, ids)?;
                    text.clear();
                    ids.extend(self.program.marks.get(usize::from(mark)).map(|(_, id)| *id));
                }
                _ => text.extend_from_slice(self.data(composition, item)),
            }
        }
        self.tokenizer.encode_into(&text, profile, scratch, ids)
    }

    /// The prompt as text, structural tokens included; for people, never to be encoded again.
    #[must_use]
    pub fn text(&self, composition: &Composition) -> String {
        let data: Vec<u8> = composition.items.iter().flat_map(|item| self.data(composition, item)).copied().collect();
        String::from_utf8_lossy(&data).into_owned()
    }

    /// Each id with its origin (`pretoken_too_long`).
    pub fn tokens(
        &self,
        composition: &Composition,
        profile: Profile,
        scratch: &mut Scratch,
    ) -> Result<Vec<Token>, Error> {
        let mut tokens = Vec::new();
        for segment in segments(&composition.items) {
            if let [item @ Item { what: What::Mark(mark), .. }] = segment {
                let Some((_, id)) = self.program.marks.get(usize::from(*mark)) else { continue };
                tokens.push(token(*id, item, Vec::new()));
                continue;
            }
            let pieces = self.pieces(composition, segment);
            let text: Vec<u8> = pieces.iter().flat_map(|piece| piece.data).copied().collect();
            for span in self.tokenizer.encode_spans(&text, profile, Unit::Bytes, scratch)? {
                let touched: Vec<_> = touched(&pieces, span.start, span.end).collect();
                // Of equals the first speaks.
                let Some((first, _, _)) = touched.first() else { continue };
                let lowest = |best: &'_ Item, item: &'_ Item| class(item) > class(best);
                let mut speaker = first.item;
                for (piece, _, _) in &touched {
                    if lowest(speaker, piece.item) {
                        speaker = piece.item;
                    }
                }
                let ranges = touched.iter().map(|(piece, start, end)| {
                    let (source, offset) = origin(piece.item);
                    (source, offset + start, offset + end)
                });
                tokens.push(token(span.id, speaker, ranges.collect()));
            }
        }
        Ok(tokens)
    }

    /// Text of special tokens in what callers wrote.
    #[must_use]
    pub fn findings(&self, composition: &Composition) -> Vec<Finding> {
        let mut findings = Vec::new();
        for segment in segments(&composition.items) {
            let may_begin = |byte: &u8| self.begins.get(usize::from(*byte)) == Some(&true);
            let mut data = segment.iter().flat_map(|item| self.data(composition, item));
            if !segment.iter().any(|item| class(item) > 0) || !data.any(may_begin) {
                continue;
            }
            let pieces = self.pieces(composition, segment);
            let text: Vec<u8> = pieces.iter().flat_map(|piece| piece.data).copied().collect();
            for found in self.tokenizer.find_special(&text) {
                let callers = touched(&pieces, found.start, found.end).find(|(piece, _, _)| class(piece.item) > 0);
                if let Some((piece, start, _)) = callers {
                    let (source, offset) = origin(piece.item);
                    findings.push(Finding { source, offset: offset + start, id: found.id });
                }
            }
        }
        findings
    }

    pub(crate) fn data<'c>(&'c self, composition: &'c Composition, item: &Item) -> &'c [u8] {
        match item.what {
            What::Mark(mark) => self.program.mark(mark),
            What::Literal(literal) => self.program.literal(literal),
            What::Field(source, start, end) => {
                composition.conversation.text(source).as_bytes().get(start..end).unwrap_or_default()
            }
        }
    }

    fn pieces<'c>(&'c self, composition: &'c Composition, segment: &'c [Item]) -> Vec<Piece<'c>> {
        let mut at = 0;
        let each = segment.iter().map(|item| {
            let data = self.data(composition, item);
            at += data.len();
            Piece { item, data, start: at - data.len() }
        });
        each.collect()
    }
}

/// An item of a segment of text, its bytes, and where they begin in the segment.
struct Piece<'c> {
    item: &'c Item,
    data: &'c [u8],
    start: usize,
}

fn token(id: TokenId, item: &Item, ranges: Vec<(Source, usize, usize)>) -> Token {
    let part = PARTS.get(usize::from(item.part)).copied().unwrap_or_default();
    let trust = TRUST.get(usize::from(class(item))).copied().unwrap_or_default();
    Token { id, role: item.role, part, trust, message: item.message, ranges }
}

const fn origin(item: &Item) -> (Source, usize) {
    match item.what {
        What::Field(source, start, _) => (source, start),
        What::Mark(_) | What::Literal(_) => (Source::Program, 0),
    }
}

/// Pieces that share bytes with `start..end`, and which of their own bytes these are.
fn touched<'p>(
    pieces: &'p [Piece<'p>],
    start: usize,
    end: usize,
) -> impl Iterator<Item = (&'p Piece<'p>, usize, usize)> {
    let first = pieces.partition_point(|piece| piece.start <= start).saturating_sub(1);
    let from = pieces.iter().skip(first).take_while(move |piece| piece.start < end);
    from.map(move |piece| (piece, start.saturating_sub(piece.start), (end - piece.start).min(piece.data.len())))
}

/// Structural tokens, one by one, and between them the items that are encoded together (M-60).
fn segments(items: &[Item]) -> impl Iterator<Item = &[Item]> {
    items.chunk_by(|left, right| !matches!(left.what, What::Mark(_)) && !matches!(right.what, What::Mark(_)))
}
