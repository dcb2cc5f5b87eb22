//! What is gathered from a composition's tokens: counts, origins, and texts of special tokens (contract/prompt.md, P-52 to P-55).

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::assembly::{Range, Row, SourceCount, Speaker};
use super::escape::Escaped;
use super::layout::{Layout, number};
use super::place::{Origin, PARTS, Place, TRUST};
use super::rendering::{Piece, Visitor};
use super::request::Request;
use crate::error::SpecialText;
use crate::ids::TokenId;
use crate::tokenizer::{Span, Tokenizer};

/// Counts of a composition that is not kept: by part and by message.
pub(super) struct Tally<'r, 'a> {
    pub(super) tokens: usize,
    pub(super) by_part: [usize; PARTS.len()],
    pub(super) by_message: Vec<usize>,
    /// Where texts of special tokens are asked for.
    pub(super) finder: Option<Finder<'r, 'a>>,
    segment: Vec<(usize, Option<u32>)>,
}

impl<'r, 'a> Tally<'r, 'a> {
    pub(super) fn new(messages: usize, finder: Option<Finder<'r, 'a>>) -> Self {
        let by_message = vec![0; messages];
        Self { tokens: 0, by_part: [0; PARTS.len()], by_message, finder, segment: Vec::new() }
    }
}

impl Visitor for Tally<'_, '_> {
    const COUNTS: bool = true;

    fn segment(&mut self, pieces: &[Piece<'_>], text: &[u8]) {
        if let Some(finder) = &mut self.finder {
            finder.segment(pieces, text);
        }
        self.segment.clear();
        self.segment.extend(pieces.iter().map(|piece| (piece.origin.part(), piece.message)));
    }

    fn token(&mut self, _: TokenId, speaker: usize, _: &[(usize, usize, usize)]) {
        self.count(1, speaker);
    }

    fn inside(&mut self, spans: &[Span], speaker: usize, _: usize, _: usize) {
        self.count(spans.len(), speaker);
    }

    fn count(&mut self, tokens: usize, speaker: usize) {
        self.tokens += tokens;
        let Some((part, message)) = self.segment.get(speaker) else { return };
        if let Some(count) = self.by_part.get_mut(*part) {
            *count += tokens;
        }
        if let Some(count) = message.and_then(|index| self.by_message.get_mut(index as usize)) {
            *count += tokens;
        }
    }
}

/// Numbers of names, items and sources by what tells them apart: for sources the class of their bytes too. One type, which is compiled once.
type Numbers = BTreeMap<(Option<Place>, u8), u32>;

/// The tokens of a composition with the names of what they touch.
pub(super) struct Gather<'r, 'a> {
    request: &'r Request,
    pub(super) finder: Finder<'r, 'a>,
    pub(super) ids: Vec<TokenId>,
    pub(super) rows: Vec<Row>,
    pub(super) ranges: Vec<Range>,
    pub(super) speakers: Vec<Speaker>,
    /// Paths of the sources that ranges name; `None` is the program.
    pub(super) names: Vec<String>,
    name_numbers: Numbers,
    pub(super) places: Vec<(&'static str, String)>,
    place_numbers: Numbers,
    pub(super) sources: Vec<SourceCount>,
    source_numbers: Numbers,
    /// Of each source, as an index of [`PARTS`].
    parts: Vec<usize>,
    segment: Vec<Heard>,
}

/// A piece of the segment at hand.
struct Heard {
    origin: Origin,
    role: &'static str,
    part: &'static str,
    message: Option<u32>,
    source: u32,
    place: u32,
    /// Its number among the speakers, once a token counts for it.
    speaker: Option<u32>,
}

impl<'r, 'a> Gather<'r, 'a> {
    pub(super) fn new(request: &'r Request, tokenizer: Tokenizer<'a>, tokens: usize) -> Self {
        Self {
            request,
            finder: Finder::new(request, tokenizer),
            ids: Vec::with_capacity(tokens),
            rows: Vec::with_capacity(tokens),
            ranges: Vec::with_capacity(tokens + tokens / 8),
            speakers: Vec::new(),
            names: Vec::new(),
            name_numbers: BTreeMap::new(),
            places: Vec::new(),
            place_numbers: BTreeMap::new(),
            sources: Vec::new(),
            source_numbers: BTreeMap::new(),
            parts: Vec::new(),
            segment: Vec::new(),
        }
    }

    /// The part of the request that a token counts for, as an index of [`PARTS`].
    pub(super) fn part_of(&self, row: Row) -> usize {
        let speaker = self.speakers.get(row.speaker as usize);
        speaker.and_then(|speaker| self.parts.get(speaker.owner as usize)).copied().unwrap_or(PARTS.len())
    }

    fn name(&mut self, origin: Origin) -> u32 {
        let next = number(self.names.len());
        let found = *self.name_numbers.entry(((!origin.is_literal).then_some(origin.place), 0)).or_insert(next);
        if found == next {
            self.names.push(origin.source(self.request));
        }
        found
    }

    fn place(&mut self, place: Place) -> u32 {
        let next = number(self.places.len());
        let found = *self.place_numbers.entry((Some(place.of_item()), 0)).or_insert(next);
        if found == next {
            let part = if place == Place::Generation { "generation_prompt" } else { part_name(place.part()) };
            self.places.push((part, place.item(self.request)));
        }
        found
    }

    /// The number of the item that tokens of an origin count for.
    fn owner(&mut self, origin: Origin) -> u32 {
        let next = number(self.sources.len());
        let key = ((!origin.is_literal).then(|| origin.place.of_item()), origin.class());
        let found = *self.source_numbers.entry(key).or_insert(next);
        if found == next {
            self.parts.push(origin.part());
            self.sources.push(SourceCount { source: origin.item(self.request), trust: trust(origin), tokens: 0 });
        }
        found
    }

    /// Tokens count for a piece: its number among the speakers.
    fn speak(&mut self, at: usize, tokens: usize) -> u32 {
        let Some(&Heard { origin, role, part, message, place, speaker, .. }) = self.segment.get(at) else { return 0 };
        let owner = match speaker.and_then(|number| self.speakers.get(number as usize)) {
            Some(speaker) => speaker.owner,
            None => self.owner(origin),
        };
        if let Some(count) = self.sources.get_mut(owner as usize) {
            count.tokens += tokens;
        }
        if let Some(number) = speaker {
            return number;
        }
        let next = number(self.speakers.len());
        self.speakers.push(Speaker { role, part, trust: trust(origin), message, owner, place });
        if let Some(heard) = self.segment.get_mut(at) {
            heard.speaker = Some(next);
        }
        next
    }

    /// The text of a piece where it is not in the prompt as it was given.
    fn changed(&self, heard: &Heard) -> Option<&'r Escaped> {
        let text = if heard.origin.is_literal { None } else { heard.origin.place.escaped(self.request) };
        text.filter(|text| !text.escapes.is_empty())
    }

    fn push(&mut self, id: TokenId, speaker: u32) {
        self.ids.push(id);
        self.rows.push(Row { speaker, ranges: number(self.ranges.len()) });
    }
}

/// A range of a source, in bytes as they were given.
fn range(source: u32, start: usize, end: usize, changed: Option<&Escaped>) -> Range {
    let (start, end) = changed.map_or((start, end), |text| (text.as_given(start, false), text.as_given(end, true)));
    (source, number(start), number(end))
}

pub(super) fn part_name(part: usize) -> &'static str {
    PARTS.get(part).copied().unwrap_or_default()
}

fn trust(origin: Origin) -> &'static str {
    TRUST.get(usize::from(origin.class())).copied().unwrap_or_default()
}

impl Visitor for Gather<'_, '_> {
    const COUNTS: bool = false;

    fn segment(&mut self, pieces: &[Piece<'_>], text: &[u8]) {
        self.finder.segment(pieces, text);
        self.segment.clear();
        for piece in pieces {
            let (source, place) = (self.name(piece.origin), self.place(piece.origin.place));
            let (origin, role, part, message) = (piece.origin, piece.role, piece.part_name(), piece.message);
            self.segment.push(Heard { origin, role, part, message, source, place, speaker: None });
        }
    }

    fn token(&mut self, id: TokenId, speaker: usize, touched: &[(usize, usize, usize)]) {
        let speaker = self.speak(speaker, 1);
        for &(at, start, end) in touched {
            if let Some(heard) = self.segment.get(at) {
                self.ranges.push(range(heard.source, start, end, self.changed(heard)));
            }
        }
        self.push(id, speaker);
    }

    fn inside(&mut self, spans: &[Span], speaker: usize, start: usize, base: usize) {
        let number = self.speak(speaker, spans.len());
        let Some(heard) = self.segment.get(speaker) else { return };
        let (source, changed) = (heard.source, self.changed(heard));
        for span in spans {
            self.ranges.push(range(source, span.start - start + base, span.end - start + base, changed));
            self.push(span.id, number);
        }
    }

    fn count(&mut self, _: usize, _: usize) {}
}

/// Texts of special tokens in what callers wrote, as given, and how many there are in the policy.
pub(super) struct Finder<'r, 'a> {
    request: &'r Request,
    tokenizer: Tokenizer<'a>,
    pub(super) found: Vec<SpecialText>,
    pub(super) in_policy: usize,
}

impl<'r, 'a> Finder<'r, 'a> {
    pub(super) const fn new(request: &'r Request, tokenizer: Tokenizer<'a>) -> Self {
        Self { request, tokenizer, found: Vec::new(), in_policy: 0 }
    }

    /// Look through a composition's segments; what is in the policy is only counted.
    pub(super) fn segment(&mut self, pieces: &[Piece<'_>], text: &[u8]) {
        for found in self.tokenizer.find_special(text) {
            let first = pieces.partition_point(|piece| piece.start <= found.start).saturating_sub(1);
            let mut touched = pieces.iter().skip(first).take_while(|piece| piece.start < found.end);
            let Some(piece) = touched.find(|piece| piece.origin.class() > 1) else {
                self.in_policy += 1;
                continue;
            };
            let offset = piece.base + found.start.saturating_sub(piece.start);
            let offset = piece.origin.place.escaped(self.request).map_or(offset, |text| text.as_given(offset, false));
            let text = self.tokenizer.token_bytes(found.id.get()).unwrap_or_default();
            self.found.push(SpecialText {
                source: Some(piece.origin.source(self.request)),
                offset,
                id: found.id,
                text: String::from_utf8_lossy(text).into_owned(),
            });
        }
    }
}

/// P-55: the place in the request of each message whose reasoning the template leaves out.
pub(super) fn dropped(layout: &Layout, request: &Request, messages: &[u32]) -> Vec<String> {
    messages.iter().map(|index| layout.place_of_message(*index as usize).item(request)).collect()
}
