//! What is gathered from a composition's tokens: counts, origins, and texts of special tokens (contract/prompt.md, P-52 to P-55).

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::assembly::{PromptToken, SourceCount};
use super::layout::{Layout, number};
use super::place::{Origin, PARTS, Place, TRUST};
use super::rendering::{Piece, Visitor};
use super::request::Request;
use crate::error::SpecialText;
use crate::ids::TokenId;
use crate::tokenizer::Tokenizer;

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
    fn segment(&mut self, pieces: &[Piece<'_>], text: &[u8]) {
        if let Some(finder) = &mut self.finder {
            finder.segment(pieces, text);
        }
        self.segment.clear();
        self.segment.extend(pieces.iter().map(|piece| (piece.origin.part(), piece.message)));
    }

    fn token(&mut self, _: TokenId, speaker: usize, _: &[(usize, usize, usize)]) {
        self.tokens += 1;
        let Some((part, message)) = self.segment.get(speaker) else { return };
        if let Some(count) = self.by_part.get_mut(*part) {
            *count += 1;
        }
        if let Some(count) = message.and_then(|index| self.by_message.get_mut(index as usize)) {
            *count += 1;
        }
    }
}

/// The tokens of a composition with the names of what they touch.
pub(super) struct Gather<'r, 'a> {
    request: &'r Request,
    pub(super) finder: Finder<'r, 'a>,
    pub(super) tokens: Vec<PromptToken>,
    pub(super) ranges: Vec<(u32, usize, usize)>,
    pub(super) names: Names,
    pub(super) places: Vec<(&'static str, String)>,
    place_numbers: BTreeMap<String, u32>,
    pub(super) sources: Vec<SourceCount>,
    source_numbers: BTreeMap<(String, &'static str), u32>,
    /// Of each source, as an index of [`PARTS`].
    parts: Vec<usize>,
    segment: Vec<Speaker>,
}

/// A piece, as the tokens that touch it tell it.
struct Speaker {
    origin: Origin,
    role: &'static str,
    part: &'static str,
    message: Option<u32>,
    source: u32,
    place: u32,
    /// Known once a token counts for it.
    owner: Option<u32>,
}

/// Texts that occur often, by number.
#[derive(Default)]
pub(super) struct Names {
    pub(super) texts: Vec<String>,
    numbers: BTreeMap<String, u32>,
}

impl Names {
    fn number(&mut self, text: String) -> u32 {
        if let Some(number) = self.numbers.get(&text) {
            return *number;
        }
        let number = number(self.texts.len());
        self.texts.push(text.clone());
        self.numbers.insert(text, number);
        number
    }
}

impl<'r, 'a> Gather<'r, 'a> {
    pub(super) fn new(request: &'r Request, tokenizer: Tokenizer<'a>, tokens: usize) -> Self {
        Self {
            request,
            finder: Finder::new(request, tokenizer),
            tokens: Vec::with_capacity(tokens),
            ranges: Vec::with_capacity(tokens + tokens / 8),
            names: Names::default(),
            places: Vec::new(),
            place_numbers: BTreeMap::new(),
            sources: Vec::new(),
            source_numbers: BTreeMap::new(),
            parts: Vec::new(),
            segment: Vec::new(),
        }
    }

    /// The part of the request that a token counts for, as an index of [`PARTS`].
    pub(super) fn part_of(&self, token: &PromptToken) -> usize {
        self.parts.get(token.owner as usize).copied().unwrap_or(PARTS.len())
    }

    fn place(&mut self, place: Place) -> u32 {
        let item = place.item(self.request);
        if let Some(number) = self.place_numbers.get(&item) {
            return *number;
        }
        let number = number(self.places.len());
        let part = if place == Place::Generation { "generation_prompt" } else { part_name(place.part()) };
        self.places.push((part, item.clone()));
        self.place_numbers.insert(item, number);
        number
    }

    /// The number of the item that a piece's tokens count for.
    fn owner(&mut self, at: usize) -> u32 {
        let Some(speaker) = self.segment.get(at) else { return 0 };
        if let Some(owner) = speaker.owner {
            return owner;
        }
        let (key, part) = ((speaker.origin.item(self.request), trust(speaker.origin)), speaker.origin.part());
        let next = number(self.sources.len());
        let owner = *self.source_numbers.entry(key.clone()).or_insert(next);
        if owner == next {
            self.parts.push(part);
            self.sources.push(SourceCount { source: key.0, trust: key.1, tokens: 0 });
        }
        if let Some(speaker) = self.segment.get_mut(at) {
            speaker.owner = Some(owner);
        }
        owner
    }
}

pub(super) fn part_name(part: usize) -> &'static str {
    PARTS.get(part).copied().unwrap_or_default()
}

fn trust(origin: Origin) -> &'static str {
    TRUST.get(usize::from(origin.class())).copied().unwrap_or_default()
}

impl Visitor for Gather<'_, '_> {
    fn segment(&mut self, pieces: &[Piece<'_>], text: &[u8]) {
        self.finder.segment(pieces, text);
        self.segment.clear();
        for piece in pieces {
            let (source, place) =
                (self.names.number(piece.origin.source(self.request)), self.place(piece.origin.place));
            let (origin, role, part, message) = (piece.origin, piece.role, piece.part_name(), piece.message);
            self.segment.push(Speaker { origin, role, part, message, source, place, owner: None });
        }
    }

    fn token(&mut self, id: TokenId, speaker: usize, touched: &[(usize, usize, usize)]) {
        let owner = self.owner(speaker);
        if let Some(count) = self.sources.get_mut(owner as usize) {
            count.tokens += 1;
        }
        let as_given = |place: Place, start, end| match place.escaped(self.request) {
            Some(text) => (text.as_given(start, false), text.as_given(end, true)),
            None => (start, end),
        };
        let first = number(self.ranges.len());
        self.ranges.extend(touched.iter().filter_map(|&(at, start, end)| {
            let piece = self.segment.get(at)?;
            let (start, end) =
                if piece.origin.is_literal { (start, end) } else { as_given(piece.origin.place, start, end) };
            Some((piece.source, start, end))
        }));
        let ranges = (first, number(self.ranges.len()));
        let Some(Speaker { origin, role, part, message, place, .. }) = self.segment.get(speaker) else { return };
        let (role, part, message, place) = (*role, *part, *message, *place);
        let trust = trust(*origin);
        self.tokens.push(PromptToken { id, role, part, trust, message, ranges, owner, place });
    }
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
