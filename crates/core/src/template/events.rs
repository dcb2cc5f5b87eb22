//! What a conversation says to a template program (contract/template.md, M-75 to M-79). Nothing here knows a model family.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::Options;
use super::messages::{Conversation, Message, Role, Source};
use crate::artifact::template::{self as tables, Event, Program, guard};

/// A stretch of a field: bytes `start..end` of the text of `source`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub(crate) source: Source,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Stretch {
    fn all(conversation: &Conversation, source: Source) -> Self {
        Self { source, start: 0, end: conversation.text(source).len() }
    }

    pub(crate) fn text<'c>(&self, conversation: &'c Conversation) -> &'c str {
        conversation.text(self.source).get(self.start..self.end).unwrap_or_default()
    }

    /// Without U+000A at its ends, and nothing else: no blanks, no U+000D.
    pub(crate) fn without_newlines(mut self, conversation: &Conversation, left: bool, right: bool) -> Self {
        let text = self.text(conversation);
        if right {
            self.end = self.start + text.trim_end_matches('\n').len();
        }
        if left {
            let text = self.text(conversation);
            self.start = self.end - text.trim_start_matches('\n').len();
        }
        self
    }
}

/// One symbol of the input.
pub(crate) struct Symbol {
    pub(crate) event: Event,
    pub(crate) guards: u32,
    /// The message that it comes from. Of a schema: 0 where message 0 is a system message.
    pub(crate) message: Option<u32>,
    pub(crate) role: Role,
    /// At most two fields, by their numbers.
    pub(crate) fields: [Option<(u8, Stretch)>; 2],
}

impl Symbol {
    pub(crate) fn field(&self, number: u8) -> Option<Stretch> {
        self.fields.iter().flatten().find(|(field, _)| *field == number).map(|(_, stretch)| *stretch)
    }
}

/// All events of a request, in order.
pub(crate) struct Events<'a> {
    program: &'a Program,
    conversation: &'a Conversation,
    options: Options,
    query: usize,
    /// Calls that no tool message has answered yet: message and number.
    unanswered: Vec<CallPlace>,
    out: Vec<Symbol>,
}

/// Message and number of a call.
pub(crate) type CallPlace = (usize, usize);

/// All events of a request.
pub(crate) fn all(program: &Program, conversation: &Conversation, options: Options) -> Vec<Symbol> {
    let messages = &conversation.messages;
    let query = last_query(program, messages);
    let mut events = Events::new(program, conversation, options, query, Vec::new());
    events.out.reserve(4 * messages.len() + conversation.tools.len() + 1);
    if messages.is_empty() {
        events.tools(false);
    }
    for index in 0..messages.len() {
        events.turn(index);
    }
    events.end();
    events.out
}

/// M-42: the last user message that is a question; the last message where there is none.
pub(crate) fn last_query(program: &Program, messages: &[Arc<Message>]) -> usize {
    let is_question = |message: &Arc<Message>| message.role == Role::User && !is_response_shape(program, message);
    messages.iter().rposition(is_question).unwrap_or(messages.len().saturating_sub(1))
}

fn is_response_shape(program: &Program, message: &Message) -> bool {
    program.query.is_some_and(|(opening, closing)| {
        let text = message.content.as_bytes();
        text.starts_with(program.mark(opening)) && text.ends_with(program.mark(closing))
    })
}

/// An index as provenance has it; a request of 2^32 messages does not fit in memory.
fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

const fn place(index: usize, count: usize) -> u32 {
    (if index == 0 { guard::FIRST } else { 0 }) | (if index + 1 == count { guard::LAST } else { 0 })
}

const fn set(holds: bool, bit: u32) -> u32 {
    if holds { bit } else { 0 }
}

impl<'a> Events<'a> {
    /// No events yet; `query` is M-42's index, `unanswered` the calls that wait before the first message to be taken.
    pub(crate) const fn new(
        program: &'a Program,
        conversation: &'a Conversation,
        options: Options,
        query: usize,
        unanswered: Vec<CallPlace>,
    ) -> Self {
        Self { program, conversation, options, query, unanswered, out: Vec::new() }
    }

    /// The events that were made since the last call.
    pub(crate) fn take(&mut self) -> Vec<Symbol> {
        core::mem::take(&mut self.out)
    }

    /// Calls that wait for an answer.
    pub(crate) fn unanswered(&self) -> &[CallPlace] {
        &self.unanswered
    }

    /// The events of one message; those of the tools stand with the first one.
    pub(crate) fn turn(&mut self, index: usize) {
        let Some(message) = self.conversation.messages.get(index) else { return };
        let has_system = message.role == Role::System;
        if index == 0 && !has_system {
            self.tools(false);
        }
        self.message(index, message);
        if index == 0 && has_system {
            self.tools(true);
        }
    }

    fn options(&self) -> u32 {
        let options = self.options;
        set(!self.conversation.tools.is_empty(), guard::TOOLS)
            | set(options.add_generation_prompt, guard::GENERATION)
            | set(options.preserve_thinking, guard::PRESERVE)
            | set(options.enable_thinking == Some(true), guard::THINKING_ON)
            | set(options.enable_thinking == Some(false), guard::THINKING_OFF)
    }

    fn push(&mut self, event: Event, guards: u32, index: usize, role: Role, field: Option<(u8, Stretch)>) {
        let message = Some(number(index));
        self.out.push(Symbol { event, guards, message, role, fields: [field, None] });
    }

    fn tools(&mut self, has_system: bool) {
        let count = self.conversation.tools.len();
        for index in 0..count {
            let schema = Stretch::all(self.conversation, Source::Tool(number(index)));
            self.out.push(Symbol {
                event: Event::Schema,
                guards: guard::TOOLS | place(index, count),
                message: has_system.then_some(0),
                role: Role::System,
                fields: [Some((tables::SCHEMA, schema)), None],
            });
        }
    }

    pub(crate) fn end(&mut self) {
        let is_empty = self.conversation.messages.is_empty();
        let guards =
            self.options() | set(is_empty, guard::FIRST) | set(self.options.continues.is_some(), guard::CONTINUES);
        self.out.push(Symbol {
            event: Event::Finish,
            guards,
            message: None,
            role: Role::Assistant,
            fields: [None, None],
        });
    }

    fn message(&mut self, index: usize, message: &Message) {
        let messages = &self.conversation.messages;
        let mut guards = self.options() | place(index, messages.len()) | set(index > self.query, guard::AFTER_QUERY);
        let content = Stretch::all(self.conversation, Source::Content(number(index)));
        let event = match message.role {
            Role::Assistant => {
                self.unanswered = (0..message.calls.len()).map(|call| (index, call)).collect();
                return self.reply(index, message, content, guards);
            }
            Role::Tool => {
                guards |= set(self.answers(message), guard::ANSWERS);
                let next = messages.get(index + 1).is_some_and(|next| next.role == Role::Tool);
                guards |= set(next, guard::NEXT_TOOL);
                Event::Tool
            }
            Role::System => Event::System,
            Role::User => {
                guards |= set(is_response_shape(self.program, message), guard::RESPONSE_SHAPE);
                Event::User
            }
        };
        if message.role != Role::Tool {
            self.unanswered.clear();
        }
        self.push(event, guards, index, message.role, Some((tables::CONTENT, content)));
    }

    /// Take the call that a tool message answers off the list, where there is one (M-26).
    fn answers(&mut self, message: &Message) -> bool {
        let id =
            |&(index, call): &(usize, usize)| self.conversation.messages.get(index)?.calls.get(call)?.id.as_deref();
        let place = match &message.tool_call_id {
            None => (!self.unanswered.is_empty()).then_some(0),
            Some(wanted) => {
                let named = self.unanswered.iter().position(|call| id(call) == Some(wanted));
                named.or_else(|| self.unanswered.iter().position(|call| id(call).is_none()))
            }
        };
        place.map(|place| self.unanswered.remove(place)).is_some()
    }

    /// An assistant message: its head, reasoning, content, calls and end.
    fn reply(&mut self, index: usize, message: &Message, whole: Stretch, mut guards: u32) {
        let (reasoning, content) = self.split(index, message, whole);
        guards |= set(reasoning.start < reasoning.end, guard::HAS_REASONING)
            | set(content.start < content.end, guard::HAS_CONTENT)
            | set(!message.calls.is_empty(), guard::HAS_CALLS)
            | set(self.is_ambiguous(message), guard::AMBIGUOUS_THINK);
        let is_last = index + 1 == self.conversation.messages.len();
        let continues = self.options.continues.filter(|_| is_last);
        let inside = |field| set(continues == Some(field), guard::CONTINUES);
        self.push(Event::Assistant, guards, index, Role::Assistant, None);
        let in_reasoning = inside(super::Continues::Reasoning);
        let reasoning = Some((tables::REASONING, reasoning));
        self.push(Event::Reasoning, guards | in_reasoning, index, Role::Assistant, reasoning);
        if in_reasoning != 0 {
            return;
        }
        let in_content = inside(super::Continues::Content);
        self.push(Event::Content, guards | in_content, index, Role::Assistant, Some((tables::CONTENT, content)));
        if in_content != 0 {
            return;
        }
        let count = message.calls.len();
        for (call, said) in message.calls.iter().enumerate() {
            let name = Stretch::all(self.conversation, Source::Name(number(index), number(call), said.wrapped));
            let arguments =
                Stretch::all(self.conversation, Source::Arguments(number(index), number(call), said.wrapped));
            let bits = guards & !(guard::FIRST | guard::LAST) | place(call, count);
            self.push(Event::Call, bits, index, Role::Assistant, Some((tables::NAME, name)));
            if let Some(symbol) = self.out.last_mut() {
                symbol.fields = [Some((tables::NAME, name)), Some((tables::ARGUMENTS, arguments))];
            }
        }
        self.push(Event::Close, guards, index, Role::Assistant, None);
    }

    fn marks_of_split(&self) -> Option<(&str, &str)> {
        let (opening, closing) = self.program.split?;
        let text = |mark| core::str::from_utf8(self.program.mark(mark)).ok();
        Some((text(opening)?, text(closing)?))
    }

    /// M-50, M-51: reasoning and content.
    fn split(&self, index: usize, message: &Message, whole: Stretch) -> (Stretch, Stretch) {
        if message.reasoning.is_some() {
            return (Stretch::all(self.conversation, Source::Reasoning(number(index))), whole);
        }
        let text = message.content.as_str();
        let none = Stretch { end: 0, ..whole };
        let Some((opening, closing)) = self.marks_of_split() else { return (none, whole) };
        let Some(first) = find(text, closing) else { return (none, whole) };
        let last = text.rfind(closing).unwrap_or(first);
        let head = Stretch { end: first, ..whole }.without_newlines(self.conversation, false, true);
        let begin = head.text(self.conversation).rfind(opening).map_or(0, |at| at + opening.len());
        let reasoning = Stretch { start: begin, ..head }.without_newlines(self.conversation, true, false);
        let rest = Stretch { start: last + closing.len(), ..whole };
        (reasoning, rest.without_newlines(self.conversation, true, false))
    }

    /// M-28: a closing tag in the content, and not one block at its start.
    fn is_ambiguous(&self, message: &Message) -> bool {
        if message.reasoning.is_some() {
            return false;
        }
        let text = message.content.as_str();
        let Some((opening, closing)) = self.marks_of_split() else { return false };
        let Some(at) = find(text, closing) else { return false };
        let head = text.get(..at).unwrap_or_default();
        let rest = text.get(at + closing.len()..).unwrap_or_default();
        let opened = head.strip_prefix(opening).is_some_and(|after| after.starts_with('\n'));
        let once = text.matches(opening).count() == 1 && !rest.contains(closing);
        !(opened && head.ends_with('\n') && rest.starts_with("\n\n") && once)
    }
}

/// Where a mark first stands in a text. Its first character is looked for several bytes at a time, and most texts have none.
fn find(text: &str, mark: &str) -> Option<usize> {
    let first = mark.chars().next()?;
    text.match_indices(first).map(|(at, _)| at).find(|&at| text.get(at..).is_some_and(|rest| rest.starts_with(mark)))
}
