//! The ids of messages, cut into chunks between which nothing is encoded together: what a session computes again, and what it keeps.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::artifact::Program;
use crate::artifact::template::{EVENTS, Event, Op, guard};
use crate::ids::TokenId;
use crate::template::events::CallPlace;
use crate::template::messages::{Message, Role};

/// Ids between two places where nothing is encoded across.
#[derive(Debug)]
pub(super) struct Chunk {
    /// The first message whose ids these are.
    pub(super) message: usize,
    /// Of it, and of those that are encoded with it.
    pub(super) ids: Box<[TokenId]>,
    /// State of the machine before it.
    pub(super) before: u8,
    /// Calls before it that wait for an answer.
    pub(super) unanswered: Box<[CallPlace]>,
    /// Ids up to its end, those of the chunks before it included.
    pub(super) end: usize,
    /// Whether it has a think block.
    pub(super) reasons: bool,
    /// It is a generation prompt whose reply has not come.
    pub(super) waits: bool,
    /// Whether it ends in text, with which text after it would have been encoded.
    pub(super) is_open: bool,
}

/// The ids of messages, and on what they depend beside these.
#[derive(Clone, Debug, Default)]
pub(super) struct Chunks {
    pub(super) all: Vec<Arc<Chunk>>,
    /// How many of the first messages they hold the ids of.
    pub(super) messages: usize,
    /// The last question.
    pub(super) query: usize,
    /// What `enable_thinking` was.
    pub(super) thinking: Option<bool>,
    /// State of the machine after them.
    pub(super) state: u8,
    /// Calls that wait for an answer after them.
    pub(super) unanswered: Box<[CallPlace]>,
}

/// How many ids there are up to the end of the last chunk.
pub(super) fn end_of(chunks: &[Arc<Chunk>]) -> usize {
    chunks.last().map_or(0, |chunk| chunk.end)
}

/// The chunks that are the same for more messages, and what stands after them.
pub(super) struct Kept<'c> {
    pub(super) chunks: &'c [Arc<Chunk>],
    /// The first message that is computed anew.
    pub(super) next: usize,
    pub(super) state: u8,
    pub(super) unanswered: &'c [CallPlace],
}

impl Chunks {
    pub(super) fn kept(
        &self,
        minds: &Minds,
        messages: &[Arc<Message>],
        query: usize,
        thinking: Option<bool>,
    ) -> Kept<'_> {
        let count = self.unchanged(minds, messages, query, thinking);
        if count == self.messages {
            return Kept { chunks: &self.all, next: count, state: self.state, unanswered: &self.unanswered };
        }
        // The last chunk that begins at or before the first message that changes; it may hold it without beginning with it.
        let mut place = self.all.partition_point(|chunk| chunk.message <= count).saturating_sub(1);
        // What changes may begin with text now.
        while place > 0 && self.joins(minds, place) {
            place -= 1;
        }
        let Some(chunk) = self.all.get(place) else {
            return Kept { chunks: &[], next: 0, state: 0, unanswered: &[] };
        };
        let chunks = self.all.get(..place).unwrap_or_default();
        Kept { chunks, next: chunk.message, state: chunk.before, unanswered: &chunk.unanswered }
    }

    /// Whether a chunk, computed anew, may be encoded with the one before it.
    fn joins(&self, minds: &Minds, place: usize) -> bool {
        let before = self.all.get(place - 1).is_some_and(|chunk| chunk.is_open);
        before && self.all.get(place).is_some_and(|chunk| !minds.marks_first(chunk.before))
    }

    /// Of how many messages nothing changes that the machine looks at.
    fn unchanged(&self, minds: &Minds, messages: &[Arc<Message>], query: usize, thinking: Option<bool>) -> usize {
        if self.messages == 0 || (thinking != self.thinking && minds.thinking) {
            return 0;
        }
        let last = self.messages - 1;
        let minds_next = messages.get(last).is_some_and(|message| minds.next.contains(&message.role));
        let is_open = self.all.last().is_some_and(|chunk| chunk.is_open) && !minds.marks_first(self.state);
        let count = if minds_next || is_open { last } else { self.messages };
        if query == self.query { count } else { count.min(self.query + 1) }
    }
}

/// What a program looks at beside the message at hand.
#[derive(Debug)]
pub(super) struct Minds {
    /// Whether a message depends on `enable_thinking`.
    thinking: bool,
    /// Roles of messages whose ids depend on what comes after them.
    next: Vec<Role>,
    /// For each state, whether each message begins there with a structural id.
    marks_first: Vec<bool>,
}

/// Events of a message that depend on what comes after it; calls are counted for themselves.
const EVENTS_OF: [(Role, &[Event]); 4] = [
    (Role::System, &[Event::System]),
    (Role::User, &[Event::User]),
    (Role::Assistant, &[Event::Assistant, Event::Reasoning, Event::Content, Event::Close]),
    (Role::Tool, &[Event::Tool]),
];

impl Minds {
    pub(super) fn of(program: &Program) -> Self {
        let states = || (0..program.states.len()).filter_map(|state| u8::try_from(state).ok());
        let looks = |event: Event, guards: u32| {
            states().any(|state| program.cell(state, event).iter().any(|rule| rule.mask & guards != 0))
        };
        let thinking = guard::THINKING_ON | guard::THINKING_OFF;
        let of_messages = EVENTS.iter().map(|(event, _)| *event).filter(|event| *event != Event::Finish);
        let looks_ahead = |events: &[Event]| events.iter().any(|&event| looks(event, guard::LAST | guard::NEXT_TOOL));
        let begins = [Event::System, Event::User, Event::Assistant, Event::Tool];
        let marks_first = |state: u8| {
            let rules = begins.iter().flat_map(|&event| program.cell(state, event));
            let mut going_on = rules.filter(|rule| rule.refusal == 0);
            going_on.all(|rule| rule.actions.first().is_some_and(|action| action.op == Op::Mark))
        };
        Self {
            thinking: of_messages.into_iter().any(|event| looks(event, thinking)),
            next: EVENTS_OF.iter().filter(|(_, events)| looks_ahead(events)).map(|(role, _)| *role).collect(),
            marks_first: states().map(marks_first).collect(),
        }
    }

    fn marks_first(&self, state: u8) -> bool {
        self.marks_first.get(usize::from(state)).copied().unwrap_or_default()
    }
}
