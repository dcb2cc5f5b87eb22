//! A reply, id by id, to events: the template's machine runs on while the model writes (contract/template.md, M-90 to M-97).

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::Template;
use super::messages::is_tool_name;
use crate::artifact::Program;
use crate::artifact::hex;
use crate::artifact::template::{Event, Op, STRIP_LEFT};
use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::json::{JsonValue, Key, read, write};
use crate::tokenizer::{Meaning, SpecialPolicy};

/// What a reply says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyKind {
    /// Reasoning as it comes.
    Reasoning,
    /// Content as it comes.
    Content,
    /// A call.
    Call,
    /// What stood where a call should.
    BadCall,
    /// Text after a call.
    StrayText,
    /// A token that has no business where it stands.
    Unexpected,
    /// Reasoning that was not closed.
    Unclosed,
    /// Bytes that are no UTF-8.
    IllFormed,
    /// The end.
    End,
}

impl ReplyKind {
    /// The word for it that every host uses.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reasoning => "reasoning",
            Self::Content => "content",
            Self::Call => "call",
            Self::BadCall => "bad_call",
            Self::StrayText => "stray_text",
            Self::Unexpected => "unexpected",
            Self::Unclosed => "unclosed",
            Self::IllFormed => "ill_formed",
            Self::End => "end",
        }
    }
}

/// Something that a reply says (M-91).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyEvent {
    /// What.
    pub kind: ReplyKind,
    /// Text that came; of ill-formed text the bytes in hex.
    pub text: String,
    /// Ids taken since the event before.
    pub ids: Vec<u32>,
    /// Of a call.
    pub name: String,
    /// Of a call: the text of a JSON object.
    pub arguments: String,
    /// Of a fault its code; of the end `end_turn` or `cut`; of an unexpected token the state.
    pub reason: String,
}

/// What is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    Nothing,
    Reasoning,
    Content,
    Call,
    Stray,
}

/// What a token does, as the tables number it.
const UNEXPECTED: u8 = 0;
const REASONING: u8 = 1;
const CONTENT: u8 = 2;
const CALL: u8 = 3;
const OPEN_REASONING: u8 = 4;
const CLOSE_REASONING: u8 = 5;
const OPEN_CALL: u8 = 6;
const CLOSE_CALL: u8 = 7;
const END_TURN: u8 = 8;

/// Text of one field as it comes.
#[derive(Clone, Debug, Default)]
struct Field {
    text: String,
    /// How much of the text was told.
    told: usize,
    /// Bytes of an open scalar value, or that cannot become one.
    pending: Vec<u8>,
    broken: bool,
    strips_left: bool,
}

impl Field {
    fn stripped(strips_left: bool) -> Self {
        Self { strips_left, ..Self::default() }
    }

    /// Text that can be told now: newlines at the end may be the template's own.
    fn add(&mut self, data: &[u8]) -> String {
        self.pending.extend_from_slice(data);
        let (complete, open) = match core::str::from_utf8(&self.pending) {
            Ok(_) => (self.pending.len(), true),
            Err(error) => (error.valid_up_to(), error.error_len().is_none()),
        };
        let fresh = self.pending.get(..complete).and_then(|bytes| core::str::from_utf8(bytes).ok());
        let before = self.text.len();
        self.text.push_str(fresh.unwrap_or_default());
        self.pending.drain(..complete);
        self.broken = !open;
        if self.strips_left {
            let rest = self.untold();
            self.told += rest.len() - rest.trim_start_matches('\n').len();
            self.strips_left = self.untold().is_empty();
        }
        // What is held from before is newlines: only what is fresh is looked at, or a reply of newlines would take quadratic time.
        let start = before.max(self.told);
        let length = self.text.get(start..).unwrap_or_default().trim_end_matches('\n').len();
        if length == 0 {
            return String::new();
        }
        let told = self.text.get(self.told..start + length).unwrap_or_default().to_string();
        self.told = start + length;
        told
    }

    fn untold(&self) -> &str {
        self.text.get(self.told..).unwrap_or_default()
    }
}

/// Reads one reply. It holds no artifact: each call must bring the same artifact's template.
#[derive(Clone, Debug)]
pub struct ReplyReader {
    state: u8,
    field: Field,
    reading: Reading,
    strips: bool,
    calls: u64,
    tainted: bool,
    position: u64,
    ids: Vec<u32>,
    events: Vec<ReplyEvent>,
    closed: bool,
    said: Said,
}

/// What the message of a reply is made of.
#[derive(Clone, Debug, Default)]
struct Said {
    content: String,
    reasoning: String,
    /// Name and arguments.
    calls: Vec<(String, String)>,
}

impl ReplyReader {
    /// Begin in the state in which the prompt ended: `invalid_value` where no reply begins there.
    pub fn new(template: &Template<'_>, state: &str) -> Result<Self, Error> {
        let program = template.program;
        let begins = |number: &usize| {
            let number = u8::try_from(*number).unwrap_or(u8::MAX);
            (0..program.marks.len() + 2).any(|symbol| program.reply(number, symbol).0 != UNEXPECTED)
        };
        let states: Vec<usize> = (0..program.states.len()).filter(begins).collect();
        let name = |number: &usize| program.states.get(*number).map_or("", String::as_str);
        let Some(found) = states.iter().find(|number| name(number) == state) else {
            let names: Vec<&str> = states.iter().map(name).collect();
            let fields = [
                ("field", "state".to_string().into()),
                ("expected", names.join(", ").into()),
                ("found", state.chars().take(64).collect::<String>().into()),
            ];
            return Err(Error::new(ErrorCode::InvalidValue, fields));
        };
        let state = u8::try_from(*found).unwrap_or(0);
        Ok(Self {
            state,
            field: Field::default(),
            reading: Reading::Nothing,
            strips: strips_left(program, state),
            calls: 0,
            tainted: false,
            position: 0,
            ids: Vec::new(),
            events: Vec::new(),
            closed: false,
            said: Said::default(),
        })
    }

    /// What was said so far, as a message of a conversation; calls that are none are not in it (M-97).
    #[must_use]
    pub fn message(&self) -> JsonValue {
        let Said { content, reasoning, calls } = &self.said;
        let mut members = Vec::from([
            member("role", JsonValue::Text("assistant".to_string())),
            member("content", JsonValue::Text(content.clone())),
            member("reasoning_content", JsonValue::Text(reasoning.clone())),
        ]);
        if !calls.is_empty() {
            let call = |(name, arguments): &(String, String)| {
                let function = Vec::from([
                    member("name", JsonValue::Text(name.clone())),
                    member("arguments", JsonValue::Text(arguments.clone())),
                ]);
                let kind = member("type", JsonValue::Text("function".to_string()));
                JsonValue::Object(Vec::from([kind, member("function", JsonValue::Object(function))]))
            };
            members.push(member("tool_calls", JsonValue::Array(calls.iter().map(call).collect())));
        }
        JsonValue::Object(members)
    }

    /// The same as JSON (M-37).
    #[must_use]
    pub fn message_json(&self) -> String {
        // It holds strings alone, a few levels deep.
        write(&self.message(), &String::new).unwrap_or_default()
    }

    /// The name of the machine's state.
    #[must_use]
    pub fn state_name<'a>(&self, template: &Template<'a>) -> &'a str {
        template.program.state_name(self.state)
    }

    /// How many ids were taken.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// What the ids say: `token_id_out_of_range`, which leaves the reader as it was before the call, and `stream_closed`.
    pub fn push(&mut self, template: &Template<'_>, ids: &[u32]) -> Result<Vec<ReplyEvent>, Error> {
        self.check_open()?;
        for (position, &id) in (self.position..).zip(ids) {
            template.tokenizer.meaning(position, id)?;
        }
        for &id in ids {
            self.position += 1;
            self.ids.push(id);
            if !self.closed {
                self.take(template, id)?;
            }
        }
        if self.closed {
            // What came in the same call after ill-formed text is kept with it.
            if let Some(last) = self.events.last_mut() {
                last.ids.append(&mut self.ids);
            }
        }
        Ok(core::mem::take(&mut self.events))
    }

    /// The end, where no token ended the turn; nothing where one did: `stream_closed`.
    pub fn finish(&mut self, template: &Template<'_>) -> Result<Vec<ReplyEvent>, Error> {
        self.check_open()?;
        if usize::from(self.state) + 1 != template.program.states.len() {
            self.end("cut");
        }
        self.closed = true;
        Ok(core::mem::take(&mut self.events))
    }

    fn check_open(&self) -> Result<(), Error> {
        if self.closed {
            return Err(Error::new(ErrorCode::StreamClosed, [("position", self.position.into())]));
        }
        Ok(())
    }

    fn take(&mut self, template: &Template<'_>, id: u32) -> Result<(), Error> {
        let program = template.program;
        let meaning = template.tokenizer.meaning(self.position, id)?;
        let text = matches!(meaning, Meaning::Plain(_));
        let mark = program.marks.iter().position(|(_, mark)| mark.get() == id);
        let symbol = mark.unwrap_or(program.marks.len() + usize::from(!text));
        let (verb, target) = program.reply(self.state, symbol);
        let data = meaning.bytes(self.position, id, SpecialPolicy::Bytes)?;
        if !text && !self.field.pending.is_empty() {
            self.ill_formed();
        } else if verb == UNEXPECTED {
            self.tainted |= self.reading == Reading::Call;
            let shown = String::from_utf8_lossy(data).into_owned();
            self.say(ReplyKind::Unexpected, shown, program.state_name(self.state));
        } else if text {
            self.text(verb, data, target);
        } else {
            self.mark(program, verb, target);
        }
        Ok(())
    }

    fn say(&mut self, kind: ReplyKind, text: String, reason: &str) {
        match kind {
            ReplyKind::Content => self.said.content.push_str(&text),
            ReplyKind::Reasoning => self.said.reasoning.push_str(&text),
            _ => {}
        }
        let ids = core::mem::take(&mut self.ids);
        let (name, arguments, reason) = (String::new(), String::new(), reason.to_string());
        self.events.push(ReplyEvent { kind, text, ids, name, arguments, reason });
    }

    fn text(&mut self, verb: u8, data: &[u8], target: u8) {
        let reading = match verb {
            REASONING => Reading::Reasoning,
            CONTENT if self.calls > 0 => Reading::Stray,
            CONTENT => Reading::Content,
            CALL => Reading::Call,
            _ => Reading::Nothing,
        };
        if reading != self.reading {
            self.reading = reading;
            self.field = Field::stripped(self.strips && reading == Reading::Content);
        }
        let delta = self.field.add(data);
        self.state = target;
        self.strips = false;
        if !delta.is_empty() {
            match reading {
                Reading::Reasoning => self.say(ReplyKind::Reasoning, delta, ""),
                Reading::Content => self.say(ReplyKind::Content, delta, ""),
                Reading::Call | Reading::Stray | Reading::Nothing => {}
            }
        }
        if self.field.broken {
            self.ill_formed();
        }
    }

    fn mark(&mut self, program: &Program, verb: u8, target: u8) {
        match verb {
            OPEN_REASONING => self.begin(Reading::Reasoning, true),
            CLOSE_REASONING => self.begin(Reading::Nothing, false),
            OPEN_CALL => {
                self.before_call();
                self.begin(Reading::Call, false);
                self.tainted = false;
            }
            CLOSE_CALL => {
                self.call();
                self.calls += 1;
                self.begin(Reading::Nothing, false);
            }
            _ => {}
        }
        self.state = target;
        self.strips = strips_left(program, target);
        if verb == END_TURN {
            self.end("end_turn");
        }
    }

    fn begin(&mut self, reading: Reading, strips_left: bool) {
        self.reading = reading;
        self.field = Field::stripped(strips_left);
    }

    /// One newline before a call is the template's own, after content or a call; others belong to what they follow.
    fn before_call(&mut self) {
        match self.reading {
            Reading::Content => {
                let held = self.field.untold();
                let kept = held.get(..held.len().saturating_sub(1)).unwrap_or_default().to_string();
                self.flush(kept);
            }
            Reading::Stray if self.field.text != "\n" => self.stray(""),
            _ => {}
        }
    }

    fn flush(&mut self, text: String) {
        if !text.is_empty() {
            self.say(ReplyKind::Content, text, "");
        }
    }

    fn stray(&mut self, reason: &str) {
        let text = self.field.text.clone();
        self.say(ReplyKind::StrayText, text, reason);
    }

    fn call(&mut self) {
        let text = core::mem::take(&mut self.field.text);
        match self.parsed(&text) {
            Ok((name, arguments)) => {
                self.say(ReplyKind::Call, text, "");
                self.said.calls.push((name.clone(), arguments.clone()));
                if let Some(event) = self.events.last_mut() {
                    event.name = name;
                    event.arguments = arguments;
                }
            }
            Err(code) => self.say(ReplyKind::BadCall, text, code.as_str()),
        }
    }

    /// Name and arguments, or why the text is no call.
    fn parsed(&self, text: &str) -> Result<(String, String), ErrorCode> {
        if self.tainted {
            return Err(ErrorCode::StructuralId);
        }
        let value = read(text.as_bytes()).map_err(|error| error.code)?;
        let JsonValue::Object(members) = value else { return Err(ErrorCode::BadToolCall) };
        let member = |name: &str| members.iter().find(|(key, _)| key.text == name).map(|(_, value)| value);
        let (Some(name), Some(arguments), 2) = (member("name"), member("arguments"), members.len()) else {
            return Err(ErrorCode::BadToolCall);
        };
        let JsonValue::Text(name) = name else { return Err(ErrorCode::BadToolName) };
        if !is_tool_name(name) {
            return Err(ErrorCode::BadToolName);
        }
        if !matches!(arguments, JsonValue::Object(_)) {
            return Err(ErrorCode::ArgumentsNotJsonObject);
        }
        if let Some(verbatim) = as_the_template_writes_it(text, name) {
            return Ok((name.clone(), verbatim.to_string()));
        }
        let written = write(arguments, &|| "arguments".to_string()).map_err(|error| error.code)?;
        Ok((name.clone(), written))
    }

    /// What is open is told; then the end.
    fn end(&mut self, reason: &str) {
        if !self.field.pending.is_empty() {
            return self.ill_formed();
        }
        match self.reading {
            Reading::Content => self.flush(self.field.untold().to_string()),
            Reading::Stray => self.stray(""),
            Reading::Call => {
                let text = self.field.text.clone();
                self.say(ReplyKind::BadCall, text, "unclosed");
            }
            Reading::Reasoning => self.say(ReplyKind::Unclosed, String::new(), "reasoning"),
            Reading::Nothing => {}
        }
        self.begin(Reading::Nothing, false);
        self.say(ReplyKind::End, String::new(), reason);
    }

    /// Decisions D12: what was delivered stays, the bytes from the open scalar value on are told, and the reader is closed.
    fn ill_formed(&mut self) {
        let reason = ErrorCode::IllFormedText.as_str();
        match self.reading {
            Reading::Call => {
                let text = self.field.text.clone();
                self.say(ReplyKind::BadCall, text, reason);
            }
            Reading::Stray => self.stray(reason),
            Reading::Nothing | Reading::Reasoning | Reading::Content => {}
        }
        let pending = hex(&self.field.pending, "");
        self.say(ReplyKind::IllFormed, pending, reason);
        self.closed = true;
    }
}

fn member(name: &'static str, value: JsonValue) -> (Key, JsonValue) {
    (Key { text: name.into(), foreign: None }, value)
}

/// Whether content that begins in a state loses its newlines at the left when it is rendered: the tables say so.
fn strips_left(program: &Program, state: u8) -> bool {
    let actions = program.cell(state, Event::Content).iter().flat_map(|rule| &rule.actions);
    actions.into_iter().any(|action| action.op == Op::Field && action.transform & STRIP_LEFT != 0)
}

/// The arguments of a call that has the template's own text around them.
fn as_the_template_writes_it<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let rest = text.strip_prefix("\n{\"name\": \"")?.strip_prefix(name)?;
    rest.strip_prefix("\", \"arguments\": ")?.strip_suffix("}\n")
}
