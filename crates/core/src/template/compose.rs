//! Running a program: events to items (contract/template.md, M-40 to M-57).

use alloc::string::ToString;
use alloc::vec::Vec;

use super::Options;
use super::events::{self, Stretch, Symbol};
use super::messages::{Conversation, Source};
use crate::artifact::Program;
use crate::artifact::template::{self as tables, Action, Op, Rule};
use crate::error::Error;
use crate::error_code::ErrorCode;

/// A structural token, or text with one origin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) what: What,
    pub(crate) role: &'static str,
    pub(crate) part: u8,
    pub(crate) message: Option<u32>,
}

/// Where an item comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// A mark of the program.
    Mark(u8),
    /// A literal of the program.
    Literal(u8),
    /// Bytes of a field.
    Field(Source, usize, usize),
}

/// What a program has made of a request.
#[derive(Debug)]
pub struct Composition {
    pub(crate) conversation: Conversation,
    pub(crate) items: Vec<Item>,
    pub(crate) dropped: Vec<u32>,
    pub(crate) state: u8,
    /// The states that were entered, one for each event.
    pub(crate) path: Vec<u8>,
}

impl Composition {
    /// Messages whose reasoning, of more than newlines, was left out (M-52).
    #[must_use]
    pub fn dropped_reasoning(&self) -> &[u32] {
        &self.dropped
    }
}

/// Whether a program writes the JSON of arguments anew.
pub(crate) fn rewrites_arguments(program: &Program) -> bool {
    let actions = program.cells.iter().flatten().flat_map(|rule| &rule.actions);
    let mut fields = actions.filter(|action| action.op == Op::Field && action.argument == tables::ARGUMENTS);
    fields.any(|action| action.transform == tables::JSON)
}

pub(crate) fn compose(program: &Program, conversation: Conversation, options: Options) -> Result<Composition, Error> {
    let symbols = events::all(program, &conversation, options);
    let mut items = Vec::with_capacity(4 * symbols.len());
    let (mut state, mut dropped, mut path) = (0, Vec::new(), Vec::with_capacity(symbols.len()));
    for symbol in &symbols {
        let rule = rule(program, &conversation, state, symbol)?;
        for action in &rule.actions {
            emit(*action, symbol, &conversation, &mut items, &mut dropped);
        }
        state = rule.target;
        path.push(state);
    }
    Ok(Composition { conversation, items, dropped, state, path })
}

/// The rule that holds in a state: the refusal where it refuses.
pub(crate) fn rule<'p>(
    program: &'p Program,
    conversation: &Conversation,
    state: u8,
    symbol: &Symbol,
) -> Result<&'p Rule, Error> {
    let refusal = match program.rule(state, symbol.event, symbol.guards) {
        Some(rule) => match tables::REFUSALS.get(usize::from(rule.refusal)).copied().flatten() {
            None => return Ok(rule),
            Some(code) => code,
        },
        None => ErrorCode::TemplateEvent,
    };
    Err(refused(program, conversation, state, symbol, refusal))
}

fn emit(action: Action, symbol: &Symbol, conversation: &Conversation, items: &mut Vec<Item>, dropped: &mut Vec<u32>) {
    let nobody = matches!(action.part, tables::PART_TOOLS | tables::PART_GENERATION);
    let message = symbol.message.filter(|_| !nobody);
    let what = match action.op {
        Op::Mark => What::Mark(action.argument),
        Op::Literal => What::Literal(action.argument),
        Op::Field => match field(action, symbol, conversation) {
            Some(taken) => What::Field(taken.source, taken.start, taken.end),
            None => return,
        },
        Op::Drop => {
            let stretch = symbol.field(action.argument);
            let text = stretch.map_or("", |stretch| stretch.text(conversation));
            dropped.extend(symbol.message.filter(|_| text.bytes().any(|byte| byte != b'\n')));
            return;
        }
    };
    items.push(Item { what, role: symbol.role.name(), part: action.part, message });
}

/// What an action makes of its field; `None` where nothing is left of it.
pub(crate) fn field(action: Action, symbol: &Symbol, conversation: &Conversation) -> Option<Stretch> {
    let strips = |side| action.transform != tables::JSON && action.transform & side != 0;
    let (left, right) = (strips(tables::STRIP_LEFT), strips(tables::STRIP_RIGHT));
    let taken = symbol.field(action.argument)?.without_newlines(conversation, left, right);
    (taken.start < taken.end).then_some(taken)
}

/// The error of a rule that refuses; an end has the index after the last message.
fn refused(program: &Program, conversation: &Conversation, state: u8, symbol: &Symbol, code: ErrorCode) -> Error {
    let count = conversation.messages.len();
    let index = symbol.message.map_or(count, |index| index as usize);
    match code {
        ErrorCode::EmptyConversation | ErrorCode::NoUser => Error::new(code, []),
        ErrorCode::RoleOrder => {
            let before = index.checked_sub(1).and_then(|place| conversation.messages.get(place));
            let previous = before.map_or("nothing", |message| message.role.name());
            let fields = [
                ("index", index.into()),
                ("role", symbol.role.name().to_string().into()),
                ("previous", previous.to_string().into()),
            ];
            Error::new(code, fields)
        }
        ErrorCode::TemplateEvent => {
            let event = tables::EVENTS.iter().find(|(event, _)| *event == symbol.event).map_or("", |(_, name)| name);
            let state = program.state_name(state).to_string();
            Error::new(code, [("state", state.into()), ("event", event.to_string().into())])
        }
        _ => Error::new(code, [("index", index.into())]),
    }
}
