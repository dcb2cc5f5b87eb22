//! Template2: a sealed program makes of a conversation ids with their origin (contract/template.md).
//!
//! Text goes through the plain encoder alone, stretch by stretch; only marks of the program become structural ids.

pub(crate) mod compose;
pub(crate) mod events;
pub(crate) mod messages;
mod rendering;
mod reply;
mod report;

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::artifact::{Artifact, Program};
use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::json::{JsonValue, Key};
use crate::tokenizer::Tokenizer;
use messages::given;

pub(crate) use compose::{Item, What, compose, rewrites_arguments};
pub(crate) use messages::{Conversation, InList, Message, Reading, Role, invalid_type, shown, taken};
pub(crate) use messages::{parse as parse_messages, parse_tools};

pub use compose::Composition;
pub use messages::Source;
pub use rendering::{Finding, Token};
pub use reply::{ReplyEvent, ReplyKind, ReplyReader};

const REQUEST_KEYS: &[&str] =
    &["messages", "tools", "enable_thinking", "add_generation_prompt", "continue_final_message", "preserve_thinking"];

/// The field of the last message inside which a prompt ends (M-57).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Continues {
    Content,
    Reasoning,
}

/// What a rendering is asked for beside messages and tools.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    pub(crate) enable_thinking: Option<bool>,
    pub(crate) add_generation_prompt: bool,
    pub(crate) continues: Option<Continues>,
    pub(crate) preserve_thinking: bool,
}

/// The template of an artifact. A view of it: cheap to make and to copy.
#[derive(Clone, Copy)]
pub struct Template<'a> {
    pub(crate) program: &'a Program,
    pub(crate) tokenizer: Tokenizer<'a>,
    /// The bytes with which texts of special tokens begin.
    begins: [bool; 256],
}

impl<'a> Template<'a> {
    /// The template of an artifact: `no_template` where it has none.
    #[inline(never)]
    pub fn new<B: AsRef<[u8]>>(artifact: &'a Artifact<B>) -> Result<Self, Error> {
        let Some(program) = artifact.template() else {
            return Err(Error::new(ErrorCode::NoTemplate, [("digest", artifact.semantic_digest().into())]));
        };
        let mut begins = [false; 256];
        for token in artifact.special().iter() {
            if let Some(is_begin) = token.text.first().and_then(|&byte| begins.get_mut(usize::from(byte))) {
                *is_begin = true;
            }
        }
        Ok(Self { program, tokenizer: Tokenizer::new(artifact), begins })
    }

    /// What the template makes of a request: an object with `messages`, and what else contract/template.md has. The refusals
    /// are those of that page.
    pub fn compose(&self, request: JsonValue) -> Result<Composition, Error> {
        let JsonValue::Object(members) = request else {
            return Err(invalid_type("request".to_string(), "object", &request));
        };
        // Here an empty list says something: no messages.
        let members = members.into_iter().filter(|(_, value)| *value != JsonValue::Null).collect();
        let mut members = known(members)?;
        let messages = taken(&mut members, "messages");
        if messages == JsonValue::Null {
            return Err(Error::new(ErrorCode::MissingField, [("field", "messages".to_string().into())]));
        }
        let options = Options {
            enable_thinking: flag(&taken(&mut members, "enable_thinking"), "enable_thinking")?,
            add_generation_prompt: flag(&taken(&mut members, "add_generation_prompt"), "add_generation_prompt")?
                == Some(true),
            preserve_thinking: flag(&taken(&mut members, "preserve_thinking"), "preserve_thinking")? == Some(true),
            continues: continues(&taken(&mut members, "continue_final_message"))?,
        };
        if options.continues.is_some() && options.add_generation_prompt {
            return Err(invalid_value("false where add_generation_prompt is true", "both".to_string()));
        }
        let reading = Reading {
            first: 0,
            continues_reasoning: options.continues == Some(Continues::Reasoning),
            rewrites_arguments: compose::rewrites_arguments(self.program),
            ..Reading::default()
        };
        let messages = messages::parse(messages, reading)?;
        let tools = messages::parse_tools(taken(&mut members, "tools"))?;
        let conversation = Conversation { messages, tools: tools.into() };
        check_continues(&conversation, options)?;
        compose::compose(self.program, conversation, options)
    }

    pub(crate) const fn tokenizer(&self) -> Tokenizer<'a> {
        self.tokenizer
    }

    /// The name of the state in which a composition ends.
    #[must_use]
    pub fn state_name(&self, composition: &Composition) -> &'a str {
        self.program.state_name(composition.state)
    }
}

/// Members of the request, whose keys are known.
fn known(members: Vec<(Key, JsonValue)>) -> Result<Vec<(Key, JsonValue)>, Error> {
    // `given` leaves empty lists out, which must not happen to messages, and must to the key `content`, which is none of a request.
    let is_empty_list = |value: &JsonValue| matches!(value, JsonValue::Array(elements) if elements.is_empty());
    let (lists, mut rest): (Vec<_>, Vec<_>) =
        members.into_iter().partition(|(key, value)| key.text == "messages" && is_empty_list(value));
    rest.retain(|(_, value)| !is_empty_list(value));
    let mut members = given(rest, REQUEST_KEYS, &String::new)?;
    members.extend(lists);
    Ok(members)
}

pub(crate) fn flag(value: &JsonValue, field: &str) -> Result<Option<bool>, Error> {
    match value {
        JsonValue::Null => Ok(None),
        JsonValue::Bool(value) => Ok(Some(*value)),
        other => Err(invalid_type(field.to_string(), "boolean", other)),
    }
}

fn continues(value: &JsonValue) -> Result<Option<Continues>, Error> {
    match value {
        JsonValue::Null | JsonValue::Bool(false) => Ok(None),
        JsonValue::Bool(true) => Ok(Some(Continues::Content)),
        JsonValue::Text(name) if name == "content" => Ok(Some(Continues::Content)),
        JsonValue::Text(name) if name == "reasoning_content" => Ok(Some(Continues::Reasoning)),
        JsonValue::Text(_) => Err(invalid_value("content or reasoning_content", shown(value))),
        other => Err(invalid_type("continue_final_message".to_string(), "boolean or string", other)),
    }
}

fn invalid_value(expected: &str, found: String) -> Error {
    let fields = [
        ("field", "continue_final_message".to_string().into()),
        ("expected", expected.to_string().into()),
        ("found", found.into()),
    ];
    Error::new(ErrorCode::InvalidValue, fields)
}

/// M-57: what is continued is there, and nothing comes after it.
fn check_continues(conversation: &Conversation, options: Options) -> Result<(), Error> {
    let (Some(field), Some(last)) = (options.continues, conversation.messages.last()) else { return Ok(()) };
    let in_reasoning = field == Continues::Reasoning;
    let reasons = [
        ("only an assistant message can be continued", last.role != messages::Role::Assistant),
        ("its tool calls would be left out", !last.calls.is_empty()),
        ("it has no reasoning_content", in_reasoning && last.reasoning.is_none()),
        ("its content would be left out", in_reasoning && !last.content.is_empty()),
    ];
    for (reason, holds) in reasons {
        if holds {
            let index = conversation.messages.len() - 1;
            let fields = [("index", index.into()), ("reason", reason.to_string().into())];
            return Err(Error::new(ErrorCode::CannotContinue, fields));
        }
    }
    Ok(())
}
