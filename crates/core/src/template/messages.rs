//! A conversation as callers give it becomes messages that cannot be wrong in type (contract/template.md, M-10 to M-21).

use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::json::{JsonValue, Key, beginning, read, write};

const SHOWN: usize = 64;
const MAX_NAME: usize = 64;

const PLAIN_KEYS: &[&str] = &["role", "content", "id", "name", "type"];
const ASSISTANT_KEYS: &[&str] = &["role", "content", "reasoning_content", "tool_calls", "id", "name", "type"];
const TOOL_KEYS: &[&str] = &["role", "content", "tool_call_id", "id", "name", "type"];
const WRAPPED_CALL_KEYS: &[&str] = &["function", "id", "index", "type"];
const FUNCTION_KEYS: &[&str] = &["name", "arguments"];
const FLAT_CALL_KEYS: &[&str] = &["name", "arguments", "id", "index", "type"];

/// Who says a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    System,
    User,
    Assistant,
    Tool,
}

impl Role {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }

    fn of(name: &str) -> Option<Self> {
        [Self::System, Self::User, Self::Assistant, Self::Tool].into_iter().find(|role| role.name() == name)
    }

    const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::System | Self::User => PLAIN_KEYS,
            Self::Assistant => ASSISTANT_KEYS,
            Self::Tool => TOOL_KEYS,
        }
    }
}

/// A field of the request, as provenance names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// `messages[i].content`
    Content(u32),
    /// `messages[i].reasoning_content`
    Reasoning(u32),
    /// The name of a call of a message, under `function` or not.
    Name(u32, u32, bool),
    /// Its arguments.
    Arguments(u32, u32, bool),
    /// `tools[k]`
    Tool(u32),
    /// Text of the program.
    Program,
}

impl Source {
    /// The place of the message in its list; `None` of what is in no message.
    pub(crate) const fn message(self) -> Option<u32> {
        match self {
            Self::Content(index) | Self::Reasoning(index) | Self::Name(index, ..) | Self::Arguments(index, ..) => {
                Some(index)
            }
            Self::Tool(_) | Self::Program => None,
        }
    }

    /// One field for all of a message.
    pub(crate) const fn of_message(self) -> Self {
        match self.message() {
            Some(index) => Self::Content(index),
            None => self,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(index) => write!(formatter, "tools[{index}]"),
            Self::Program => formatter.write_str("program"),
            _ => write!(formatter, "messages{}", InList(*self)),
        }
    }
}

/// The path of a message's field inside a list of messages: `[3].content`.
pub(crate) struct InList(pub(crate) Source);

impl fmt::Display for InList {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let function = |wrapped: bool| if wrapped { ".function" } else { "" };
        match self.0 {
            Source::Content(index) => write!(formatter, "[{index}].content"),
            Source::Reasoning(index) => write!(formatter, "[{index}].reasoning_content"),
            Source::Name(index, call, wrapped) => {
                write!(formatter, "[{index}].tool_calls[{call}]{}.name", function(wrapped))
            }
            Source::Arguments(index, call, wrapped) => {
                write!(formatter, "[{index}].tool_calls[{call}]{}.arguments", function(wrapped))
            }
            Source::Tool(_) | Source::Program => Ok(()),
        }
    }
}

/// One call of an assistant message.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) name: String,
    /// The text of a JSON object; it goes into the prompt as it is.
    pub(crate) arguments: String,
    pub(crate) id: Option<String>,
    /// Whether name and arguments stood under `function`.
    pub(crate) wrapped: bool,
}

/// One message.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) role: Role,
    pub(crate) content: String,
    pub(crate) reasoning: Option<String>,
    pub(crate) calls: Vec<Call>,
    pub(crate) tool_call_id: Option<String>,
}

impl Message {
    /// A user message that is a question, whatever the program (M-42).
    pub(crate) fn question() -> Self {
        Self { role: Role::User, content: String::new(), reasoning: None, calls: Vec::new(), tool_call_id: None }
    }
}

/// Messages and the JSON of tools; sessions that were forked share both.
#[derive(Clone, Debug, Default)]
pub(crate) struct Conversation {
    pub(crate) messages: Vec<Arc<Message>>,
    pub(crate) tools: Arc<[String]>,
}

impl Conversation {
    /// The text of a field.
    pub(crate) fn text(&self, source: Source) -> &str {
        let message = |index: u32| self.messages.get(index as usize);
        let call = |index: u32, call: u32| message(index).and_then(|message| message.calls.get(call as usize));
        match source {
            Source::Content(index) => message(index).map_or("", |message| &message.content),
            Source::Reasoning(index) => message(index).and_then(|message| message.reasoning.as_deref()).unwrap_or(""),
            Source::Name(index, number, _) => call(index, number).map_or("", |call| &call.name),
            Source::Arguments(index, number, _) => call(index, number).map_or("", |call| &call.arguments),
            Source::Tool(index) => self.tools.get(index as usize).map_or("", |tool| tool),
            Source::Program => "",
        }
    }
}

/// How the messages are to be read.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    /// Index of the first of the messages: how many came before them.
    pub(crate) first: usize,
    /// The list's name in the request; paths begin with it.
    pub(crate) list: &'static str,
    /// The last message ends in its reasoning, so that its content may be absent (M-57).
    pub(crate) continues_reasoning: bool,
    /// The program writes the JSON of arguments anew, also where they are text.
    pub(crate) rewrites_arguments: bool,
}

impl Default for Reading {
    fn default() -> Self {
        Self { first: 0, list: "messages", continues_reasoning: false, rewrites_arguments: false }
    }
}

/// Messages (M-10 to M-20).
pub(crate) fn parse(messages: JsonValue, reading: Reading) -> Result<Vec<Arc<Message>>, Error> {
    let JsonValue::Array(values) = messages else {
        return Err(invalid_type(reading.list.to_string(), "array", &messages));
    };
    let last = values.len().checked_sub(1).filter(|_| reading.continues_reasoning);
    let each = values.into_iter().enumerate();
    each.map(|(at, value)| message(value, reading.first + at, last == Some(at), reading).map(Arc::new)).collect()
}

/// JSON text of each tool (M-21); null is no tool.
pub(crate) fn parse_tools(tools: JsonValue) -> Result<Vec<String>, Error> {
    let values = match tools {
        JsonValue::Null => return Ok(Vec::new()),
        JsonValue::Array(values) => values,
        other => return Err(invalid_type("tools".to_string(), "array", &other)),
    };
    let each = values.iter().enumerate();
    each.map(|(index, value)| {
        if !matches!(value, JsonValue::Object(_)) {
            let fields = [("tool", index.into()), ("found", value.type_name().to_string().into())];
            return Err(Error::new(ErrorCode::BadToolSchema, fields));
        }
        write(value, &|| format!("tools[{index}]"))
    })
    .collect()
}

pub(crate) fn invalid_type(field: String, expected: &str, found: &JsonValue) -> Error {
    let fields = [
        ("field", field.into()),
        ("expected", expected.to_string().into()),
        ("found", found.type_name().to_string().into()),
    ];
    Error::new(ErrorCode::InvalidType, fields)
}

/// What came, as an error says it: the beginning of a text, the type of anything else.
pub(crate) fn shown(value: &JsonValue) -> String {
    match value {
        JsonValue::Text(text) => beginning(text, SHOWN),
        other => other.type_name().to_string(),
    }
}

/// The fields that say something: null counts as absent, and so does an empty list under any key but `content` (M-13).
pub(crate) fn given(
    members: Vec<(Key, JsonValue)>,
    known: &[&str],
    path: &dyn Fn() -> String,
) -> Result<Vec<(Key, JsonValue)>, Error> {
    let mut kept = members;
    kept.retain(|(key, value)| match value {
        JsonValue::Null => false,
        JsonValue::Array(elements) => !elements.is_empty() || (key.foreign.is_none() && key.text == "content"),
        _ => true,
    });
    let is_known = |key: &Key| key.foreign.is_none() && known.contains(&&*key.text);
    let Some((key, _)) = kept.iter().find(|(key, _)| !is_known(key)) else { return Ok(kept) };
    let path = path();
    let dot = if path.is_empty() { "" } else { "." };
    let field = format!("{path}{dot}{}", beginning(&key.text, SHOWN));
    let fields = [("field", field.into()), ("known", known.join(", ").into())];
    Err(Error::new(ErrorCode::UnknownField, fields))
}

/// Take a member out; null where it is not there.
pub(crate) fn taken(members: &mut Vec<(Key, JsonValue)>, name: &str) -> JsonValue {
    match members.iter().position(|(key, _)| key.foreign.is_none() && key.text == name) {
        Some(place) => members.swap_remove(place).1,
        None => JsonValue::Null,
    }
}

fn peek<'v>(members: &'v [(Key, JsonValue)], name: &str) -> &'v JsonValue {
    let found = members.iter().find(|(key, _)| key.foreign.is_none() && key.text == name);
    found.map_or(&JsonValue::Null, |(_, value)| value)
}

fn optional_text(value: JsonValue, path: impl Fn() -> String) -> Result<Option<String>, Error> {
    match value {
        JsonValue::Null => Ok(None),
        JsonValue::Text(text) => Ok(Some(text)),
        other => Err(invalid_type(path(), "string", &other)),
    }
}

fn message(value: JsonValue, index: usize, may_lack_content: bool, reading: Reading) -> Result<Message, Error> {
    let list = reading.list;
    let path = || format!("{list}[{index}]");
    let JsonValue::Object(members) = value else { return Err(invalid_type(path(), "object", &value)) };
    let role = peek(&members, "role");
    let known = if let JsonValue::Text(name) = role { Role::of(name) } else { None };
    let Some(role) = known else {
        let fields = [("index", index.into()), ("found", shown(role).into())];
        return Err(Error::new(ErrorCode::UnknownRole, fields));
    };
    let mut members = given(members, role.keys(), &path)?;
    let calls = calls(taken(&mut members, "tool_calls"), index, reading)?;
    let reasoning = optional_text(taken(&mut members, "reasoning_content"), || path() + ".reasoning_content")?;
    let content = content(taken(&mut members, "content"), index, !calls.is_empty() || may_lack_content)?;
    let tool_call_id = optional_text(taken(&mut members, "tool_call_id"), || path() + ".tool_call_id")?;
    Ok(Message { role, content, reasoning, calls, tool_call_id })
}

fn content(value: JsonValue, index: usize, absent_is_empty: bool) -> Result<String, Error> {
    match value {
        JsonValue::Text(text) => Ok(text),
        JsonValue::Null if absent_is_empty => Ok(String::new()),
        JsonValue::Array(parts) => {
            for part in &parts {
                let JsonValue::Object(members) = part else { continue };
                let JsonValue::Text(kind) = peek(members, "type") else { continue };
                if kind != "text" {
                    let fields = [("index", index.into()), ("part", beginning(kind, SHOWN).into())];
                    return Err(Error::new(ErrorCode::UnsupportedContentPart, fields));
                }
            }
            Err(not_string(index, "array"))
        }
        other => Err(not_string(index, other.type_name())),
    }
}

fn not_string(index: usize, found: &str) -> Error {
    Error::new(ErrorCode::ContentNotString, [("index", index.into()), ("found", found.to_string().into())])
}

fn calls(value: JsonValue, index: usize, reading: Reading) -> Result<Vec<Call>, Error> {
    match value {
        JsonValue::Null => Ok(Vec::new()),
        JsonValue::Array(values) => {
            values.into_iter().enumerate().map(|(number, value)| call(value, index, number, reading)).collect()
        }
        other => Err(invalid_type(format!("{}[{index}].tool_calls", reading.list), "array", &other)),
    }
}

/// A call, flat or with its name and arguments under `function`.
fn call(value: JsonValue, index: usize, number: usize, reading: Reading) -> Result<Call, Error> {
    let bad = || Error::new(ErrorCode::BadToolCall, [("index", index.into()), ("call", number.into())]);
    let path = || format!("{}[{index}].tool_calls[{number}]", reading.list);
    let JsonValue::Object(mut members) = value else { return Err(bad()) };
    let function = peek(&members, "function");
    let wrapped = *function != JsonValue::Null;
    let is_object = matches!(function, JsonValue::Object(_));
    let inner_path = || path() + if wrapped { ".function" } else { "" };
    let (mut name_and_arguments, mut outer);
    if wrapped {
        let function = if is_object { taken(&mut members, "function") } else { JsonValue::Null };
        outer = given(members, WRAPPED_CALL_KEYS, &path)?;
        let JsonValue::Object(inner) = function else { return Err(bad()) };
        name_and_arguments = given(inner, FUNCTION_KEYS, &inner_path)?;
    } else {
        outer = given(members, FLAT_CALL_KEYS, &path)?;
        name_and_arguments = Vec::new();
        for key in ["name", "arguments"] {
            let value = taken(&mut outer, key);
            name_and_arguments.push((Key { text: key.into(), foreign: None }, value));
        }
    }
    let name = match taken(&mut name_and_arguments, "name") {
        JsonValue::Text(name) if is_tool_name(&name) => name,
        other => {
            let fields = [("index", index.into()), ("call", number.into()), ("found", shown(&other).into())];
            return Err(Error::new(ErrorCode::BadToolName, fields));
        }
    };
    let given_arguments = taken(&mut name_and_arguments, "arguments");
    let arguments = arguments(given_arguments, index, number, reading, &|| inner_path() + ".arguments")?;
    let id = optional_text(taken(&mut outer, "id"), || path() + ".id")?;
    Ok(Call { name, arguments, id, wrapped })
}

pub(crate) fn is_tool_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

/// Text stays as it is, so that a model's own call keeps its own ids; a value is written as the publisher writes it.
fn arguments(
    value: JsonValue,
    index: usize,
    number: usize,
    reading: Reading,
    path: &dyn Fn() -> String,
) -> Result<String, Error> {
    match value {
        JsonValue::Object(_) => return write(&value, path),
        JsonValue::Text(text) => {
            if let Ok(value @ JsonValue::Object(_)) = read(text.as_bytes()) {
                return if reading.rewrites_arguments { write(&value, path) } else { Ok(text) };
            }
        }
        _ => {}
    }
    let fields = [("index", index.into()), ("call", number.into())];
    Err(Error::new(ErrorCode::ArgumentsNotJsonObject, fields))
}
