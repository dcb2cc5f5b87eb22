//! A composition token by token, each with the texts that it touches (contract/prompt.md, P-52; contract/template.md, M-60 to M-65).

use alloc::vec::Vec;

use super::Workbench;
use super::layout::{Layout, Stretch};
use super::place::Origin;
use crate::artifact::template::PARTS;
use crate::error::Error;
use crate::ids::TokenId;
use crate::template::{Composition, Item, Source, Template, What};
use crate::tokenizer::{Profile, Span, Unit};

/// Text of one origin, between two structural tokens; or one of these.
pub(super) struct Piece<'c> {
    pub(super) origin: Origin,
    pub(super) data: &'c [u8],
    /// Where it begins in the text between the tokens.
    pub(super) start: usize,
    /// Where it begins in its source.
    pub(super) base: usize,
    pub(super) role: &'static str,
    pub(super) part: u8,
    pub(super) message: Option<u32>,
}

impl Piece<'_> {
    /// Which part of the message.
    pub(super) fn part_name(&self) -> &'static str {
        PARTS.get(usize::from(self.part)).copied().unwrap_or_default()
    }

    const fn end(&self) -> usize {
        self.start + self.data.len()
    }
}

/// What is done with the tokens of a composition, segment by segment.
pub(super) trait Visitor {
    /// Whether it only counts: then tokens of the last piece of a segment come by their number, and nobody works out where they stand.
    const COUNTS: bool;

    /// A stretch of text, and its pieces; a structural token is a piece by itself, and no text.
    fn segment(&mut self, pieces: &[Piece<'_>], text: &[u8]);

    /// A token of this segment: the piece that speaks for it, and for each that it touches the bytes of its source.
    fn token(&mut self, id: TokenId, speaker: usize, touched: &[(usize, usize, usize)]);

    /// The same for tokens that each lie in one piece; it begins at byte `base` of its source and at `start` of what the spans count in.
    fn inside(&mut self, spans: &[Span], speaker: usize, start: usize, base: usize);

    /// So many more that lie in one piece, where it only counts.
    fn count(&mut self, tokens: usize, speaker: usize);
}

/// Show all tokens of a composition. The ids of the text in which one message's content stands may be known.
pub(super) fn walk<V: Visitor>(
    composition: &Composition,
    layout: &Layout,
    known: Option<&(usize, Vec<TokenId>)>,
    visitor: &mut V,
    bench: &mut Workbench<'_>,
) -> Result<(), Error> {
    let mut pieces = Vec::new();
    let mut text = Vec::new();
    let mut spans = Vec::new();
    let template = bench.template;
    for segment in segments(&composition.items) {
        pieces.clear();
        add_pieces(&template, composition, layout, segment, &mut pieces);
        if let [Item { what: What::Mark(mark), .. }] = segment {
            visitor.segment(&pieces, &[]);
            if let Some((_, id)) = template.program.marks.get(usize::from(*mark)) {
                visitor.token(*id, 0, &[]);
            }
            continue;
        }
        text.clear();
        for piece in &pieces {
            text.extend_from_slice(piece.data);
        }
        visitor.segment(&pieces, &text);
        let last = pieces.last().map_or(0, |piece| piece.start);
        let until = if V::COUNTS { last } else { text.len() };
        let more = match known {
            Some((message, ids)) if holds_content(segment, *message) => spans_of(ids, until, bench, &mut spans),
            _ => encode(&text, until, bench, &mut spans)?,
        };
        show(&pieces, &spans, visitor);
        visitor.count(more, pieces.len().saturating_sub(1));
    }
    Ok(())
}

/// Show the tokens of one segment.
fn show(pieces: &[Piece<'_>], mut spans: &[Span], visitor: &mut impl Visitor) {
    let mut touched = Vec::new();
    let mut first = 0;
    while let Some((span, later)) = spans.split_first() {
        // Ranges rise but where marks change places in normalisation.
        while pieces.get(first).is_some_and(|piece| piece.start > span.start) {
            first -= 1;
        }
        while pieces.get(first).is_some_and(|piece| piece.end() <= span.start) {
            first += 1;
        }
        let Some(piece) = pieces.get(first) else { return };
        let is_inside = |span: &&Span| span.start >= piece.start && span.end <= piece.end();
        let (inside, after) = spans.split_at(spans.iter().take_while(is_inside).count());
        if !inside.is_empty() {
            visitor.inside(inside, first, piece.start, piece.base);
            spans = after;
            continue;
        }
        touched.clear();
        let mut speaker = first;
        for (place, piece) in pieces.iter().enumerate().skip(first).take_while(|(_, piece)| piece.start < span.end) {
            let from = span.start.saturating_sub(piece.start);
            let to = (span.end - piece.start).min(piece.data.len());
            touched.push((place, piece.base + from, piece.base + to));
            // Of equals the first speaks.
            if pieces.get(speaker).is_some_and(|best| piece.origin.class() > best.origin.class()) {
                speaker = place;
            }
        }
        visitor.token(span.id, speaker, &touched);
        spans = later;
    }
}

/// The tokens of a text that begin before byte `until`, with their bytes in it, and how many more there are.
fn encode(text: &[u8], until: usize, bench: &mut Workbench<'_>, spans: &mut Vec<Span>) -> Result<usize, Error> {
    let tokenizer = &bench.template.tokenizer;
    spans.clear();
    if bench.profile != Profile::Contract {
        spans.append(&mut tokenizer.encode_spans(text, bench.profile, Unit::Bytes, bench.scratch)?);
        return Ok(0);
    }
    let mut ids = core::mem::take(&mut bench.ids);
    ids.clear();
    tokenizer.encode_into(text, bench.profile, bench.scratch, &mut ids)?;
    let more = spans_of(&ids, until, bench, spans);
    bench.ids = ids;
    Ok(more)
}

/// The same of a text that was not normalised: each token has its own bytes, one after the other.
fn spans_of(ids: &[TokenId], until: usize, bench: &Workbench<'_>, spans: &mut Vec<Span>) -> usize {
    spans.clear();
    spans.reserve(if until == 0 { 0 } else { ids.len() });
    let mut start = 0;
    for &id in ids {
        if start >= until {
            break;
        }
        let end = start + bench.template.tokenizer.token_length(id);
        spans.push(Span { id, start, end });
        start = end;
    }
    ids.len() - spans.len()
}

fn holds_content(segment: &[Item], message: usize) -> bool {
    segment.iter().any(|item| matches!(item.what, What::Field(Source::Content(of), ..) if of as usize == message))
}

/// Structural tokens, one by one, and between them the items that are encoded together (M-60).
pub(super) fn segments(items: &[Item]) -> impl Iterator<Item = &[Item]> {
    items.chunk_by(|left, right| !matches!(left.what, What::Mark(_)) && !matches!(right.what, What::Mark(_)))
}

/// The pieces of one segment that are not empty.
fn add_pieces<'c>(
    template: &'c Template<'_>,
    composition: &'c Composition,
    layout: &Layout,
    segment: &[Item],
    pieces: &mut Vec<Piece<'c>>,
) {
    let mut start = 0;
    for item in segment {
        let all = template.data(composition, item);
        let field_start = match item.what {
            What::Field(_, start, _) => start,
            What::Mark(_) | What::Literal(_) => 0,
        };
        layout.origins(item, &mut |Stretch { origin, start: from, end: to, base }| {
            let to = to.min(field_start + all.len());
            let data = all.get(from - field_start..to - field_start).unwrap_or_default();
            if !data.is_empty() {
                let (role, part, message) = (item.role, item.part, item.message);
                pieces.push(Piece { origin, data, start, base, role, part, message });
                start += data.len();
            }
        });
    }
}
