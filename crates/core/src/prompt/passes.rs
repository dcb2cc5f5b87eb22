//! The passes and the sweep: what is given up, in which order, and when that stops (contract/prompt.md, P-62 to P-72).

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};

use super::content;
use super::cut;
use super::degradation::Degradation;
use super::frame::Frames;
use super::layout::number;
use super::line::Line;
use super::place::Place;
use super::rendering::segments;
use super::request::Request;
use super::{Step, Workbench};
use crate::by_place::ByPlace;
use crate::error::Error;
use crate::ids::TokenId;
use crate::template::{Composition, Item, Role, Source, What};

/// Parts of the system line before the first fact: its head, the policy, the opening of the facts.
const BEFORE_FACTS: usize = 3;
/// Bytes, about.
const LENGTH_OF_WHY: usize = 64;

/// What of a request is in the prompt: all of it, or what the steps so far have left.
pub(super) struct Kept {
    /// So many of the oldest turns are out.
    pub(super) turns_out: usize,
    /// Whether a marker tells it.
    pub(super) marker: bool,
    /// So many passages, the first ones in the prompt.
    pub(super) chunks: usize,
    /// So many facts, the first ones in the prompt.
    pub(super) facts: usize,
    /// For a passage by its rank: the byte of its escaped text at which it is cut.
    pub(super) chunk_cuts: ByPlace<usize>,
    /// For a tool response by its place among all messages: the byte at which it is cut.
    pub(super) response_cuts: ByPlace<usize>,
}

impl Kept {
    pub(super) fn all(request: &Request) -> Self {
        Self {
            turns_out: 0,
            marker: false,
            chunks: request.retrieved.len(),
            facts: request.local_state.len(),
            chunk_cuts: ByPlace::new(),
            response_cuts: ByPlace::new(),
        }
    }

    /// How many messages of the history are out.
    pub(super) fn messages_taken(&self, request: &Request) -> usize {
        self.turns_out.checked_sub(1).and_then(|last| request.turns.get(last)).map_or(0, |turn| turn.end)
    }

    /// The number of the marker, where there is one.
    pub(super) fn truncated(&self) -> Option<usize> {
        self.marker.then_some(self.turns_out)
    }

    pub(super) fn cut_of_chunk(&self, rank: usize) -> Option<usize> {
        self.chunk_cuts.get(rank).filter(|_| rank < self.chunks).copied()
    }
}

/// A run of the passes over one request.
pub(super) struct Passes<'r, 'b, 'w> {
    request: &'r Request,
    /// Of the whole request.
    composition: &'r Composition,
    /// Tokens of each message as it is now.
    message_tokens: Vec<usize>,
    system: Line,
    user: Line,
    size: usize,
    /// A step is taken as long as the size is above this.
    target: usize,
    bench: &'b mut Workbench<'w>,
    pub(super) kept: Kept,
    pub(super) steps: Vec<Step>,
}

/// P-70: what passes 1 to 4 aim at. It lies `headroom` or a multiple of it below the whole size.
pub(super) const fn target(whole: usize, available: usize, headroom: usize) -> usize {
    let over = whole.saturating_sub(available);
    if over == 0 || headroom == 0 {
        return available;
    }
    whole.saturating_sub(headroom * over.div_ceil(headroom))
}

/// The two texts that steps change, in their parts.
pub(super) struct Lines {
    system: Line,
    user: Line,
}

impl Lines {
    /// Of the whole request.
    pub(super) fn new(request: &Request, frames: &Frames, bench: &mut Workbench<'_>) -> Result<Self, Error> {
        let system = content::system(request, request.local_state.len(), None);
        let system = Line::new(frames.system.around(system.into_iter().map(|part| part.text)), bench)?;
        let evidence = (0..request.retrieved.len()).map(|rank| content::evidence(request, rank, None));
        let user = evidence.chain([request.user_turn.clone()]);
        Ok(Self { system, user: Line::new(frames.user.around(user), bench)? })
    }

    /// The ids of the user's text.
    pub(super) fn take_user_ids(&mut self) -> Vec<TokenId> {
        self.user.take_ids()
    }
}

impl<'r, 'b, 'w> Passes<'r, 'b, 'w> {
    pub(super) fn new(
        request: &'r Request,
        composition: &'r Composition,
        Lines { system, user }: Lines,
        (size, message_tokens): (usize, Vec<usize>),
        bench: &'b mut Workbench<'w>,
    ) -> Self {
        let (kept, target) = (Kept::all(request), size);
        Self { request, composition, message_tokens, system, user, size, target, bench, kept, steps: Vec::new() }
    }

    /// All that is allowed, until the prompt fits; its size then.
    pub(super) fn run(&mut self, floors: &Degradation) -> Result<usize, Error> {
        self.target = target(self.size, self.request.available(), floors.headroom);
        self.drop_turns(floors.keep_turns)?;
        self.drop_chunks(floors.keep_chunks)?;
        self.truncate_history(floors.active_turns)?;
        self.cut_chunks(floors.chunk_limit)?;
        self.cut_responses(floors.tool_limit)?;
        self.target = self.request.available();
        if floors.sweep {
            self.sweep()?;
        }
        Ok(self.size)
    }

    const fn is_over(&self) -> bool {
        self.size > self.target
    }

    fn turns(&self) -> usize {
        self.request.turns.len() - self.kept.turns_out
    }

    fn drop_turns(&mut self, keep: usize) -> Result<(), Error> {
        while self.is_over() && self.turns() > keep {
            let turns = self.turns();
            self.take_turns(1, "1", "drop_turn", format_args!("{turns} turns, keep_turns {keep}"), false)?;
        }
        Ok(())
    }

    fn drop_chunks(&mut self, keep: usize) -> Result<(), Error> {
        while self.is_over() && self.kept.chunks > keep {
            let chunks = self.kept.chunks;
            self.take_chunk("2", format_args!("{chunks} chunks, keep_chunks {keep}"))?;
        }
        Ok(())
    }

    fn truncate_history(&mut self, active: usize) -> Result<(), Error> {
        let turns = self.turns();
        if self.is_over() && turns > active {
            let count = turns - active;
            self.take_turns(
                count,
                "3",
                "truncate_history",
                format_args!("{turns} turns, active_turns {active}"),
                true,
            )?;
        }
        Ok(())
    }

    fn cut_chunks(&mut self, limit: usize) -> Result<(), Error> {
        if !self.is_over() {
            return Ok(());
        }
        let request = self.request;
        let mut long = Vec::new();
        for (rank, chunk) in request.retrieved.iter().enumerate().take(self.kept.chunks) {
            let limit = chunk.limit.map_or(limit, |own| own.min(limit));
            let tokens = self.count(chunk.text.text.as_bytes())?;
            if tokens > limit {
                long.push((tokens, &chunk.id, rank, limit));
            }
        }
        long.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| b.1.cmp(a.1)));
        for (tokens, _, rank, limit) in long {
            if !self.is_over() {
                break;
            }
            let Some(chunk) = request.retrieved.get(rank) else { continue };
            let at = cut::place(&chunk.text.text, limit, |byte| chunk.text.is_inside(byte), self.bench)?;
            let before = self.user.total();
            let cut = content::evidence(request, rank, Some(at));
            self.user.replace(1 + rank, cut, self.bench)?;
            self.kept.chunk_cuts.insert(rank, at);
            let step = self.step("4", "cut_chunk", Place::ChunkText(number(rank)).source(request));
            let (kept_bytes, given_bytes) = (chunk.text.as_given(at, false), chunk.text.given);
            let step = Step { kept_bytes, given_bytes, ..step };
            self.done(step, before, self.user.total(), format_args!("{tokens} tokens, limit {limit}"));
        }
        Ok(())
    }

    fn cut_responses(&mut self, limit: usize) -> Result<(), Error> {
        if !self.is_over() {
            return Ok(());
        }
        let composition = self.composition;
        let first = 1 + self.kept.messages_taken(self.request);
        let mut long = Vec::new();
        for (index, message) in composition.conversation.messages.iter().enumerate().skip(first) {
            if message.role == Role::Tool {
                let tokens = self.count(message.content.as_bytes())?;
                if tokens > limit {
                    long.push((tokens, index));
                }
            }
        }
        long.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let segments = contents(composition);
        for (tokens, index) in long {
            if !self.is_over() {
                break;
            }
            let segment = segments.get(index).copied().unwrap_or_default();
            self.cut_response(index, segment, limit, format_args!("{tokens} tokens, limit {limit}"))?;
        }
        Ok(())
    }

    fn cut_response(
        &mut self,
        index: usize,
        segment: &[Item],
        limit: usize,
        why: fmt::Arguments<'_>,
    ) -> Result<(), Error> {
        let composition = self.composition;
        let Some(message) = composition.conversation.messages.get(index) else { return Ok(()) };
        let at = cut::place(&message.content, limit, |_| false, self.bench)?;
        // Where a template has no structural tokens for them, responses stand in one stretch of text with others.
        let before = self.text_now(segment);
        self.kept.response_cuts.insert(index, at);
        let after = self.text_now(segment);
        let (before, after) = (self.count(&before)?, self.count(&after)?);
        if let Some(tokens) = self.message_tokens.get_mut(index) {
            *tokens = (*tokens + after).saturating_sub(before);
        }
        let history = self.request.turns.last().map_or(0, |turn| turn.end);
        let place = if index > history + 1 {
            Place::Steps(Source::Content(number(index - history - 2)))
        } else {
            Place::History(Source::Content(number(index - 1)))
        };
        let step = self.step("4", "cut_tool_response", place.source(self.request));
        let step = Step { kept_bytes: at, given_bytes: message.content.len(), ..step };
        self.done(step, before, after, why);
        Ok(())
    }

    /// A stretch of text with the responses in it as they are now.
    fn text_now(&self, segment: &[Item]) -> Vec<u8> {
        let mut text = Vec::new();
        for item in segment {
            let data = self.bench.template.data(self.composition, item);
            let cut = match item.what {
                What::Field(Source::Content(index), ..) => self.kept.response_cuts.get(index as usize),
                _ => None,
            };
            text.extend_from_slice(data.get(..cut.copied().unwrap_or(data.len())).unwrap_or(data));
            text.extend_from_slice(if cut.is_some() { cut::CUT.as_bytes() } else { &[] });
        }
        text
    }

    /// The sweep gives the floors up, one item a step.
    fn sweep(&mut self) -> Result<(), Error> {
        while self.is_over() && self.turns() > 0 {
            self.take_turns(1, "sweep", "drop_turn", format_args!("sweep of history"), true)?;
        }
        while self.is_over() && self.kept.chunks > 0 {
            self.take_chunk("sweep", format_args!("sweep of retrieved"))?;
        }
        while self.is_over() && self.kept.facts > 0 {
            self.take_fact()?;
        }
        Ok(())
    }

    fn take_turns(
        &mut self,
        count: usize,
        pass: &'static str,
        action: &'static str,
        why: fmt::Arguments<'_>,
        marker: bool,
    ) -> Result<(), Error> {
        let first = 1 + self.kept.messages_taken(self.request);
        self.kept.turns_out += count;
        self.kept.marker |= marker;
        let end = 1 + self.kept.messages_taken(self.request);
        self.kept.response_cuts.forget(end);
        let mut before = self.message_tokens.get(first..end).unwrap_or_default().iter().sum::<usize>();
        let mut after = 0;
        if marker {
            before += self.system.total();
            let text = content::marker(self.kept.truncated());
            self.system.replace(BEFORE_FACTS + self.kept.facts + 1, text, self.bench)?;
            after = self.system.total();
        }
        let messages = self.composition.conversation.messages.get(first..end).unwrap_or_default();
        let given_bytes = messages.iter().map(|message| message.content.len()).sum();
        let source = Place::History(Source::Content(number(first - 1))).item(self.request);
        let step = self.step(pass, action, source);
        self.done(Step { messages: end - first, given_bytes, ..step }, before, after, why);
        Ok(())
    }

    fn take_chunk(&mut self, pass: &'static str, why: fmt::Arguments<'_>) -> Result<(), Error> {
        let before = self.user.total();
        let rank = self.kept.chunks - 1;
        self.user.remove(1 + rank, self.bench)?;
        self.kept.chunks = rank;
        let given_bytes = self.request.retrieved.get(rank).map_or(0, |chunk| chunk.text.given);
        let step = self.step(pass, "drop_chunk", Place::ChunkId(number(rank)).item(self.request));
        self.done(Step { given_bytes, ..step }, before, self.user.total(), why);
        Ok(())
    }

    fn take_fact(&mut self) -> Result<(), Error> {
        let before = self.system.total();
        let rank = self.kept.facts - 1;
        self.system.remove(BEFORE_FACTS + rank, self.bench)?;
        self.kept.facts = rank;
        if rank == 0 {
            self.system.replace(BEFORE_FACTS - 1, String::new(), self.bench)?;
            self.system.replace(BEFORE_FACTS, String::new(), self.bench)?;
        }
        let given_bytes = self.request.local_state.get(rank).map_or(0, |fact| fact.value.given);
        let step = self.step("sweep", "drop_fact", Place::FactName(number(rank)).item(self.request));
        self.done(Step { given_bytes, ..step }, before, self.system.total(), format_args!("sweep of local_state"));
        Ok(())
    }

    fn count(&mut self, text: &[u8]) -> Result<usize, Error> {
        self.bench.template.tokenizer.count(text, self.bench.profile, self.bench.scratch)
    }

    fn step(&self, pass: &'static str, action: &'static str, source: String) -> Step {
        let mut why = String::with_capacity(LENGTH_OF_WHY);
        let _ = write!(why, "{} over {}: ", self.size - self.target, self.target);
        Step { pass, action, source, messages: 0, kept_bytes: 0, given_bytes: 0, before: self.size, after: 0, why }
    }

    /// What changed had `before` tokens and has `after`.
    fn done(&mut self, mut step: Step, before: usize, after: usize, why: fmt::Arguments<'_>) {
        self.size = self.size + after - before;
        step.after = self.size;
        // Writing to a string does not fail.
        let _ = step.why.write_fmt(why);
        self.steps.push(step);
    }
}

/// The stretch of text in which the content of each message stands.
fn contents(composition: &Composition) -> ByPlace<&[Item]> {
    let mut contents = ByPlace::new();
    for segment in segments(&composition.items) {
        for item in segment {
            if let What::Field(Source::Content(index), ..) = item.what {
                contents.insert(index as usize, segment);
            }
        }
    }
    contents
}
