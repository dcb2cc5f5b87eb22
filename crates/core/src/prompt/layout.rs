//! Where the texts of a conversation come from: messages of the template back to fields of the request.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::content::{self, Content, Fragment};
use super::passes::Kept;
use super::place::{Origin, Place};
use super::request::Request;
use crate::artifact::template::{PART_GENERATION, PART_TOOLS};
use crate::by_place::ByPlace;
use crate::template::{Conversation, Item, Message, Role, Source, What};

/// Which message is what, and the fragments of those that the assembler composed.
pub(super) struct Layout {
    /// Messages of the history that were taken out before those that are there.
    taken: usize,
    /// Messages of the history that are there.
    history: usize,
    composed: ByPlace<Vec<Fragment>>,
}

/// A stretch of one origin: bytes `start..end` of a message's field or of a literal, and where they begin in their source.
pub(super) struct Stretch {
    pub(super) origin: Origin,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) base: usize,
}

/// An index as sources have it; a request of 2^32 messages does not fit in memory.
pub(super) fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// All messages of a request: the system message, history, the user message, steps. History and steps are moved out of it.
pub(super) fn conversation(request: &mut Request) -> Conversation {
    let mut messages = Vec::with_capacity(request.history.len() + request.steps.len() + 2);
    messages.push(Arc::new(message(Role::System)));
    messages.append(&mut request.history);
    messages.push(Arc::new(message(Role::User)));
    messages.append(&mut request.steps);
    Conversation { messages, tools: core::mem::take(&mut request.tools).into() }
}

fn message(role: Role) -> Message {
    Message { role, content: String::new(), reasoning: None, calls: Vec::new(), tool_call_id: None }
}

impl Layout {
    /// Make a conversation what `kept` says, from one of the whole request: turns out of it, contents composed, responses cut.
    pub(super) fn apply(request: &Request, kept: &Kept, conversation: &mut Conversation) -> Self {
        let all = request.turns.last().map_or(0, |turn| turn.end);
        let taken = kept.messages_taken(request);
        let mut layout = Self { taken, history: all - taken, composed: ByPlace::new() };
        conversation.messages.drain(1..=taken);
        let user = layout.user();
        layout.compose(0, content::whole_system(request, kept), conversation);
        layout.compose(user, content::user(request, kept), conversation);
        for (message, &cut) in kept.response_cuts.iter() {
            let index = message - taken;
            let (place, at): (fn(Source) -> Place, _) =
                if index > user { (Place::Steps, index - user - 1) } else { (Place::History, index - 1 + taken) };
            let text = conversation.messages.get(index).map_or("", |message| &message.content);
            layout.compose(index, content::response(place, number(at), text, cut), conversation);
        }
        layout
    }

    fn compose(&mut self, index: usize, content: Content, conversation: &mut Conversation) {
        if let Some(message) = conversation.messages.get_mut(index) {
            Arc::make_mut(message).content = content.text;
            self.composed.insert(index, content.fragments);
        }
    }

    /// The index of the user message.
    pub(super) const fn user(&self) -> usize {
        self.history + 1
    }

    /// The list of the request and the place in it that a message of the conversation has, for errors and reports.
    pub(super) fn place_of_message(&self, index: usize) -> Place {
        self.of_message(Source::Content(number(index)))
    }

    /// The field of a message of the conversation as a field of the request.
    fn of_message(&self, source: Source) -> Place {
        let index = match source {
            Source::Content(index)
            | Source::Reasoning(index)
            | Source::Name(index, ..)
            | Source::Arguments(index, ..) => index as usize,
            Source::Tool(index) => return Place::Tool(index),
            Source::Program => return Place::Policy,
        };
        let user = self.user();
        match index {
            0 => Place::Policy,
            _ if index < user => Place::History(moved(source, index - 1 + self.taken)),
            _ if index == user => Place::UserTurn,
            _ => Place::Steps(moved(source, index - user - 1)),
        }
    }

    /// The stretches that a field's bytes `start..end` have.
    fn stretches(&self, source: Source, start: usize, end: usize, tell: &mut impl FnMut(Stretch)) {
        let fragments = match source {
            Source::Content(index) => self.composed.get(index as usize),
            _ => None,
        };
        let Some(fragments) = fragments else {
            return tell(Stretch { origin: Origin::given(self.of_message(source)), start, end, base: start });
        };
        let mut begins = 0;
        for fragment in fragments {
            let (from, to) = (begins.max(start), fragment.end.min(end));
            if from < to {
                tell(Stretch { origin: fragment.origin, start: from, end: to, base: from - begins });
            }
            begins = fragment.end;
        }
    }

    /// What a structural token or a literal of the template stands for.
    pub(super) fn of_literal(&self, item: &Item) -> Origin {
        Origin::literal(match (item.part, item.message) {
            (PART_TOOLS, _) => Place::Tools,
            (PART_GENERATION, _) | (_, None) => Place::Generation,
            (_, Some(index)) => self.place_of_message(index as usize),
        })
    }

    /// The pieces of an item of text.
    pub(super) fn origins(&self, item: &Item, tell: &mut impl FnMut(Stretch)) {
        match item.what {
            What::Field(source, start, end) => self.stretches(source, start, end, tell),
            What::Literal(_) | What::Mark(_) => {
                tell(Stretch { origin: self.of_literal(item), start: 0, end: usize::MAX, base: 0 });
            }
        }
    }
}

/// The same field of the message at another place.
const fn moved(source: Source, index: usize) -> Source {
    #[allow(clippy::cast_possible_truncation)] // indices came from u32
    let index = index as u32;
    match source {
        Source::Content(_) => Source::Content(index),
        Source::Reasoning(_) => Source::Reasoning(index),
        Source::Name(_, call, wrapped) => Source::Name(index, call, wrapped),
        Source::Arguments(_, call, wrapped) => Source::Arguments(index, call, wrapped),
        other => other,
    }
}
