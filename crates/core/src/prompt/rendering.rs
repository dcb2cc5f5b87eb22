//! A composition token by token, each with the texts that it touches (contract/prompt.md, P-52; contract/template.md, M-60 to M-65).

use alloc::vec::Vec;

use super::Workbench;
use super::layout::{Layout, Stretch};
use super::place::Origin;
use crate::artifact::template::PARTS;
use crate::error::Error;
use crate::ids::TokenId;
use crate::template::{Composition, Item, Template, What};
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
}

/// What is done with the tokens of a composition, segment by segment.
pub(super) trait Visitor {
    /// A stretch of text, and its pieces; a structural token is a piece by itself, and no text.
    fn segment(&mut self, pieces: &[Piece<'_>], text: &[u8]);

    /// A token of this segment: the piece that speaks for it, and for each that it touches the bytes of its source.
    fn token(&mut self, id: TokenId, speaker: usize, touched: &[(usize, usize, usize)]);
}

/// Show all tokens of a composition.
pub(super) fn walk(
    composition: &Composition,
    layout: &Layout,
    visitor: &mut impl Visitor,
    bench: &mut Workbench<'_>,
) -> Result<(), Error> {
    let mut touched = Vec::new();
    let mut text = Vec::new();
    let mut spans = Vec::new();
    let template = bench.template;
    for segment in segments(&composition.items) {
        let pieces = pieces(&template, composition, layout, segment);
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
        let mut first = 0;
        encode(&text, bench, &mut spans)?;
        for span in &spans {
            // Ranges rise but where marks change places in normalisation.
            while pieces.get(first).is_some_and(|piece| piece.start > span.start) {
                first -= 1;
            }
            while pieces.get(first).is_some_and(|piece| piece.start + piece.data.len() <= span.start) {
                first += 1;
            }
            touched.clear();
            let mut speaker = first;
            for (place, piece) in pieces.iter().enumerate().skip(first).take_while(|(_, piece)| piece.start < span.end)
            {
                let from = span.start.saturating_sub(piece.start);
                let to = (span.end - piece.start).min(piece.data.len());
                touched.push((place, piece.base + from, piece.base + to));
                // Of equals the first speaks.
                if pieces.get(speaker).is_some_and(|best| piece.origin.class() > best.origin.class()) {
                    speaker = place;
                }
            }
            visitor.token(span.id, speaker, &touched);
        }
    }
    Ok(())
}

/// The tokens of a text, with their bytes in it.
fn encode(text: &[u8], bench: &mut Workbench<'_>, spans: &mut Vec<Span>) -> Result<(), Error> {
    let tokenizer = &bench.template.tokenizer;
    spans.clear();
    if bench.profile != Profile::Contract {
        spans.append(&mut tokenizer.encode_spans(text, bench.profile, Unit::Bytes, bench.scratch)?);
        return Ok(());
    }
    // Nothing is normalised: each token has its own bytes, one after the other.
    bench.ids.clear();
    tokenizer.encode_into(text, bench.profile, bench.scratch, &mut bench.ids)?;
    let mut start = 0;
    for &id in &bench.ids {
        let end = start + tokenizer.token_bytes(id.get())?.len();
        spans.push(Span { id, start, end });
        start = end;
    }
    Ok(())
}

/// Structural tokens, one by one, and between them the items that are encoded together (M-60).
pub(super) fn segments(items: &[Item]) -> impl Iterator<Item = &[Item]> {
    items.chunk_by(|left, right| !matches!(left.what, What::Mark(_)) && !matches!(right.what, What::Mark(_)))
}

/// The pieces of one segment that are not empty.
fn pieces<'c>(
    template: &'c Template<'_>,
    composition: &'c Composition,
    layout: &Layout,
    segment: &[Item],
) -> Vec<Piece<'c>> {
    let mut pieces = Vec::new();
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
    pieces
}
