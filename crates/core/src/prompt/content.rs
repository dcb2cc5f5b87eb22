//! The text of the system and of the user message, in fragments of one origin each (contract/prompt.md, P-41, P-42, P-65).

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::cut::CUT;
use super::passes::Kept;
use super::place::{Origin, Place};
use super::request::{Chunk, Request};
use crate::template::Source;

const OPEN: &str = "\n\n<local_state>\n";
const CLOSE: &str = "</local_state>";
/// More than the assembler writes around a passage.
const AROUND_EVIDENCE: usize = 64;

/// A stretch of a content that ends at byte `end` of it. It begins where the one before ends, at byte 0 of its source.
#[derive(Clone, Copy)]
pub(super) struct Fragment {
    pub(super) origin: Origin,
    pub(super) end: usize,
}

/// The content of a message.
#[derive(Default)]
pub(super) struct Content {
    pub(super) text: String,
    pub(super) fragments: Vec<Fragment>,
}

impl Content {
    fn push(&mut self, origin: Origin, text: &str) {
        if !text.is_empty() {
            self.text.push_str(text);
            self.fragments.push(Fragment { origin, end: self.text.len() });
        }
    }

    fn append(&mut self, other: Self) {
        let before = self.text.len();
        self.text.push_str(&other.text);
        let moved = |fragment: Fragment| Fragment { end: before + fragment.end, ..fragment };
        self.fragments.extend(other.fragments.into_iter().map(moved));
    }

    fn of(origin: Origin, text: &str) -> Self {
        let mut content = Self::default();
        content.push(origin, text);
        content
    }
}

/// The parts of the system text: the policy, the opening of the facts, each of the first `facts`, their end, and the marker. The number
/// of parts depends on nothing but `facts`.
pub(super) fn system(request: &Request, facts: usize, truncated: Option<usize>) -> Vec<Content> {
    let mut parts = Vec::with_capacity(facts + 4);
    parts.push(Content::of(Origin::given(Place::Policy), request.policy.text()));
    let wrapper = |text| if facts > 0 { text } else { "" };
    parts.push(Content::of(Origin::literal(Place::FactName(0)), wrapper(OPEN)));
    parts.extend((0..).zip(request.local_state.iter().take(facts)).map(|(rank, fact)| {
        let mut line = Content::of(Origin::given(Place::FactName(rank)), &fact.name);
        line.push(Origin::literal(Place::FactName(rank)), ": ");
        line.push(Origin::given(Place::FactValue(rank)), &fact.value.text);
        line.push(Origin::literal(Place::FactName(rank)), "\n");
        line
    }));
    let last = u32::try_from(facts.saturating_sub(1)).unwrap_or(u32::MAX);
    parts.push(Content::of(Origin::literal(Place::FactName(last)), wrapper(CLOSE)));
    parts.push(Content::of(Origin::literal(Place::HistoryMarker), &marker(truncated)));
    parts
}

/// The same as one text.
pub(super) fn whole_system(request: &Request, kept: &Kept) -> Content {
    let mut content = Content::default();
    for part in system(request, kept.facts, kept.truncated()) {
        content.append(part);
    }
    content
}

/// P-65: what says that turns were taken out.
pub(super) fn marker(truncated: Option<usize>) -> String {
    truncated.map_or_else(String::new, |turns| format!("\n\n<history_truncated turns=\"{turns}\"/>"))
}

/// The passage of a rank, cut at a byte of its escaped text or not, after what is there.
pub(super) fn add_evidence(request: &Request, rank: usize, cut: Option<usize>, content: &mut Content) {
    let Some(chunk) = request.retrieved.get(rank) else { return };
    let number = u32::try_from(rank).unwrap_or(u32::MAX);
    let literal = Origin::literal(Place::ChunkId(number));
    content.push(literal, "<evidence id=\"");
    content.push(Origin::given(Place::ChunkId(number)), &chunk.id);
    content.push(literal, "\" source=\"");
    content.push(Origin::given(Place::ChunkSource(number)), &chunk.source);
    content.push(literal, "\">\n");
    let text = chunk.text.text.get(..cut.unwrap_or(usize::MAX).min(chunk.text.text.len())).unwrap_or_default();
    content.push(Origin::given(Place::ChunkText(number)), text);
    content.push(literal, if cut.is_some() { CUT } else { "" });
    content.push(literal, "\n</evidence>\n\n");
}

/// The same by itself.
pub(super) fn evidence(request: &Request, rank: usize, cut: Option<usize>) -> String {
    let bytes = request.retrieved.get(rank).map_or(0, length);
    let mut content = Content { text: String::with_capacity(bytes), fragments: Vec::new() };
    add_evidence(request, rank, cut, &mut content);
    content.text
}

/// Bytes of a passage with all that stands around it, or some more.
fn length(chunk: &Chunk) -> usize {
    chunk.text.text.len() + chunk.source.len() + chunk.id.len() + AROUND_EVIDENCE
}

/// All passages that are kept, and the user's words.
pub(super) fn user(request: &Request, kept: &Kept) -> Content {
    let mut content = Content::default();
    let passages = request.retrieved.iter().take(kept.chunks);
    content.text.reserve(passages.map(length).sum::<usize>() + request.user_turn.len());
    for rank in 0..kept.chunks {
        add_evidence(request, rank, kept.cut_of_chunk(rank), &mut content);
    }
    content.push(Origin::given(Place::UserTurn), &request.user_turn);
    content
}

/// A tool response that was cut; `place` makes its place of the field in a message.
pub(super) fn response(place: fn(Source) -> Place, index: u32, text: &str, cut: usize) -> Content {
    let place = place(Source::Content(index));
    let mut content = Content::of(Origin::given(place), text.get(..cut).unwrap_or_default());
    content.push(Origin::literal(place), CUT);
    content
}
