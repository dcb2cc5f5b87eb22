//! Section 0x80: the template program, as tables (contract/artifact.md; what they mean: contract/template.md).

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::layout::part;
use super::special::SpecialTokens;
use super::template_checks;
use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::ids::TokenId;

/// Symbols of a conversation, in the order of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    System,
    Schema,
    User,
    Assistant,
    Reasoning,
    Content,
    Call,
    Close,
    Tool,
    Finish,
}

pub(crate) const EVENTS: [(Event, &str); 10] = [
    (Event::System, "system"),
    (Event::Schema, "schema"),
    (Event::User, "user"),
    (Event::Assistant, "assistant"),
    (Event::Reasoning, "reasoning"),
    (Event::Content, "content"),
    (Event::Call, "call"),
    (Event::Close, "close"),
    (Event::Tool, "tool"),
    (Event::Finish, "finish"),
];

/// Bits of what holds of an event.
pub(crate) mod guard {
    pub(crate) const TOOLS: u32 = 1;
    pub(crate) const FIRST: u32 = 1 << 1;
    pub(crate) const LAST: u32 = 1 << 2;
    pub(crate) const AFTER_QUERY: u32 = 1 << 3;
    pub(crate) const HAS_REASONING: u32 = 1 << 4;
    pub(crate) const HAS_CONTENT: u32 = 1 << 5;
    pub(crate) const HAS_CALLS: u32 = 1 << 6;
    pub(crate) const NEXT_TOOL: u32 = 1 << 7;
    pub(crate) const THINKING_ON: u32 = 1 << 8;
    pub(crate) const THINKING_OFF: u32 = 1 << 9;
    pub(crate) const GENERATION: u32 = 1 << 10;
    pub(crate) const PRESERVE: u32 = 1 << 11;
    pub(crate) const CONTINUES: u32 = 1 << 12;
    pub(crate) const RESPONSE_SHAPE: u32 = 1 << 13;
    pub(crate) const AMBIGUOUS_THINK: u32 = 1 << 14;
    pub(crate) const ANSWERS: u32 = 1 << 15;
    pub(crate) const ALL: u32 = (1 << 16) - 1;
}

pub(crate) const PARTS: [&str; 8] =
    ["structure", "role_header", "content", "tools", "reasoning", "tool_call", "tool_response", "generation_prompt"];
pub(crate) const PART_TOOLS: u8 = 3;
pub(crate) const PART_GENERATION: u8 = 7;

pub(crate) const CONTENT: u8 = 0;
pub(crate) const REASONING: u8 = 1;
pub(crate) const NAME: u8 = 2;
pub(crate) const ARGUMENTS: u8 = 3;
pub(crate) const SCHEMA: u8 = 4;
const FIELD_COUNT: usize = 5;

pub(crate) const STRIP_LEFT: u8 = 1;
pub(crate) const STRIP_RIGHT: u8 = 2;
pub(crate) const JSON: u8 = 4;

/// Codes of rules that refuse; 0 goes on.
pub(crate) const REFUSALS: [Option<ErrorCode>; 9] = [
    None,
    Some(ErrorCode::EmptyConversation),
    Some(ErrorCode::SystemNotFirst),
    Some(ErrorCode::NoUser),
    Some(ErrorCode::RoleOrder),
    Some(ErrorCode::ToolWithoutCall),
    Some(ErrorCode::ReservedUserShape),
    Some(ErrorCode::AmbiguousThink),
    Some(ErrorCode::TemplateEvent),
];
pub(crate) const NEVER: u8 = 8;

const REPLY_VERBS: u8 = 9;
const MAX_RULES: u8 = 16;
const MAX_NAME: usize = 32;

/// What an action does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Mark,
    Literal,
    Field,
    Drop,
}

/// One thing that a rule emits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Action {
    pub(crate) op: Op,
    pub(crate) part: u8,
    pub(crate) argument: u8,
    pub(crate) transform: u8,
}

/// What happens where the guards in `mask` are as `value` says.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) mask: u32,
    pub(crate) value: u32,
    pub(crate) refusal: u8,
    pub(crate) target: u8,
    pub(crate) actions: Vec<Action>,
}

impl Rule {
    pub(crate) const fn matches(&self, guards: u32) -> bool {
        guards & self.mask == self.value
    }
}

/// A template as a machine.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) marks: Vec<(Box<[u8]>, TokenId)>,
    pub(crate) literals: Vec<Box<[u8]>>,
    pub(crate) states: Vec<String>,
    pub(crate) split: Option<(u8, u8)>,
    pub(crate) query: Option<(u8, u8)>,
    pub(crate) cells: Vec<Vec<Rule>>,
    pub(crate) reply: Vec<(u8, u8)>,
}

impl Program {
    /// The last step but one of the order of checks.
    #[inline(never)]
    pub(crate) fn check(section: &[u8], special: &SpecialTokens) -> Result<Self, Error> {
        let program = Reader { section, at: 0, strings: 0 }.program(special)?;
        program.check_numbering()?;
        template_checks::check(&program)?;
        Ok(program)
    }

    pub(crate) fn cell(&self, state: u8, event: Event) -> &[Rule] {
        self.cells.get(usize::from(state) * EVENTS.len() + event as usize).map_or(&[], |rules| rules)
    }

    pub(crate) fn rule(&self, state: u8, event: Event, guards: u32) -> Option<&Rule> {
        self.cell(state, event).iter().find(|rule| rule.matches(guards))
    }

    pub(crate) fn mark(&self, number: u8) -> &[u8] {
        self.marks.get(usize::from(number)).map_or(&[], |(text, _)| text)
    }

    pub(crate) fn literal(&self, number: u8) -> &[u8] {
        self.literals.get(usize::from(number)).map_or(&[], |text| text)
    }

    pub(crate) fn state_name(&self, state: u8) -> &str {
        self.states.get(usize::from(state)).map_or("", |name| name)
    }

    /// What a symbol of a reply does in a state: a mark's number, then text, then another structural token.
    pub(crate) fn reply(&self, state: u8, symbol: usize) -> (u8, u8) {
        self.reply.get(usize::from(state) * (self.marks.len() + 2) + symbol).copied().unwrap_or((0, state))
    }

    /// Marks and literals are numbered as they are first used, and all are used: one program, one byte string.
    fn check_numbering(&self) -> Result<(), Error> {
        for (number, op, count) in [(0_u64, Op::Mark, self.marks.len()), (1, Op::Literal, self.literals.len())] {
            let mut next = 0;
            let used = self.cells.iter().flatten().flat_map(|rule| &rule.actions).filter(|action| action.op == op);
            let in_order = used.map(|action| usize::from(action.argument)).all(|argument| {
                let known = argument <= next;
                next += usize::from(argument == next);
                known
            });
            if !in_order || next != count {
                return Err(Error::new(ErrorCode::ArtifactTemplateOrder, [("op", number.into())]));
            }
        }
        Ok(())
    }
}

/// The section from front to back.
struct Reader<'a> {
    section: &'a [u8],
    at: usize,
    strings: u64,
}

impl<'a> Reader<'a> {
    fn take(&mut self, size: usize) -> Result<&'a [u8], Error> {
        let end = self.at + size;
        if end > self.section.len() {
            return Err(self.length_error(end));
        }
        let taken = part(self.section, self.at as u64, end as u64);
        self.at = end;
        Ok(taken)
    }

    fn length_error(&self, expected: usize) -> Error {
        let fields = [("found", self.section.len().into()), ("expected", expected.into())];
        Error::new(ErrorCode::ArtifactTemplateLength, fields)
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        Ok(self.take(N)?.first_chunk().copied().unwrap_or([0; N]))
    }

    fn byte(&mut self) -> Result<u8, Error> {
        Ok(u8::from_le_bytes(self.number()?))
    }

    fn texts(&mut self, count: u8, allowed: fn(&[u8]) -> bool) -> Result<Vec<&'a [u8]>, Error> {
        let mut texts = Vec::new();
        for _ in 0..count {
            let size = usize::from(u16::from_le_bytes(self.number()?));
            let text = self.take(size)?;
            if text.is_empty() || texts.contains(&text) || core::str::from_utf8(text).is_err() || !allowed(text) {
                return Err(self.text_error());
            }
            texts.push(text);
            self.strings += 1;
        }
        Ok(texts)
    }

    fn text_error(&self) -> Error {
        Error::new(ErrorCode::ArtifactTemplateText, [("index", self.strings.into())])
    }

    fn program(mut self, special: &SpecialTokens) -> Result<Program, Error> {
        self.texts(1, is_family)?;
        let count = self.byte()?;
        let mut marks = Vec::new();
        for (number, text) in (0_u64..).zip(self.texts(count, |_| true)?) {
            let known = special.iter().find(|token| *token.text == *text);
            let Some(token) = known else { return Err(mark_error(number)) };
            marks.push((Box::from(text), token.id));
        }
        let count = self.byte()?;
        let literals: Vec<Box<[u8]>> = self.texts(count, |_| true)?.into_iter().map(Box::from).collect();
        let count = self.byte()?;
        let names = self.texts(count, is_state_name)?;
        let ends = names.first() == Some(&&b"INIT"[..]) && names.last() == Some(&&b"END"[..]);
        if names.len() < 2 || !ends {
            return Err(self.text_error());
        }
        let split = self.pair(marks.len(), 0)?;
        let query = self.pair(marks.len(), 1)?;
        let sizes = Sizes { marks: marks.len(), literals: literals.len(), states: names.len() };
        let mut cells = Vec::new();
        for state in 0..names.len() {
            for (event, _) in EVENTS {
                cells.push(self.cell(state, event, &sizes)?);
            }
        }
        let mut reply = Vec::new();
        for state in 0..names.len() {
            for symbol in 0..marks.len() + 2 {
                reply.push(self.reply(state, symbol, names.len())?);
            }
        }
        if self.at != self.section.len() {
            return Err(self.length_error(self.at));
        }
        let states = names.into_iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        Ok(Program { marks, literals, states, split, query, cells, reply })
    }

    fn pair(&mut self, marks: usize, which: u64) -> Result<Option<(u8, u8)>, Error> {
        let (first, second) = (self.byte()?, self.byte()?);
        let known = usize::from(first.max(second)) <= marks;
        match (first.checked_sub(1), second.checked_sub(1)) {
            (None, None) => Ok(None),
            (Some(opening), Some(closing)) if known && opening != closing => Ok(Some((opening, closing))),
            _ => Err(mark_error(marks as u64 + which)),
        }
    }

    fn cell(&mut self, state: usize, event: Event, sizes: &Sizes) -> Result<Vec<Rule>, Error> {
        let refused = |rule: u64| {
            let fields = [("state", state.into()), ("event", (event as usize).into()), ("rule", rule.into())];
            Error::new(ErrorCode::ArtifactTemplateRule, fields)
        };
        let count = self.byte()?;
        if !(1..=MAX_RULES).contains(&count) {
            return Err(refused(count.into()));
        }
        let mut rules = Vec::new();
        for number in 0..count {
            let rule = self.rule(event, sizes)?;
            rules.push(rule.ok_or_else(|| refused(number.into()))?);
        }
        Ok(rules)
    }

    /// A rule; `None` where a number of it names nothing.
    fn rule(&mut self, event: Event, sizes: &Sizes) -> Result<Option<Rule>, Error> {
        let mask = u32::from_le_bytes(self.number()?);
        let value = u32::from_le_bytes(self.number()?);
        let refusal = self.byte()?;
        let mut rule = Rule { mask, value, refusal, target: 0, actions: Vec::new() };
        let mut sound = mask & !guard::ALL == 0 && value & !mask == 0 && usize::from(refusal) < REFUSALS.len();
        if refusal == 0 {
            rule.target = self.byte()?;
            sound &= usize::from(rule.target) < sizes.states;
            let mut used = Vec::new();
            for _ in 0..self.byte()? {
                let [op, part, argument, transform] = self.number()?;
                match action(op, part, argument, transform, event, sizes, &mut used) {
                    Some(action) => rule.actions.push(action),
                    None => sound = false,
                }
            }
        }
        Ok(sound.then_some(rule))
    }

    fn reply(&mut self, state: usize, symbol: usize, states: usize) -> Result<(u8, u8), Error> {
        let (does, target) = (self.byte()?, self.byte()?);
        let known = does < REPLY_VERBS && usize::from(target) < states;
        if !known || (does == 0 && usize::from(target) != state) {
            let fields = [("state", state.into()), ("symbol", symbol.into())];
            return Err(Error::new(ErrorCode::ArtifactTemplateReply, fields));
        }
        Ok((does, target))
    }
}

/// How many there are to be named.
struct Sizes {
    marks: usize,
    literals: usize,
    states: usize,
}

fn mark_error(mark: u64) -> Error {
    Error::new(ErrorCode::ArtifactTemplateMark, [("mark", mark.into())])
}

/// An action whose numbers name something, and fit; `used` are the fields that its rule has used.
fn action(
    op: u8,
    part: u8,
    argument: u8,
    transform: u8,
    event: Event,
    sizes: &Sizes,
    used: &mut Vec<u8>,
) -> Option<Action> {
    let (op, limit) = match op {
        0 => (Op::Mark, sizes.marks),
        1 => (Op::Literal, sizes.literals),
        2 => (Op::Field, FIELD_COUNT),
        3 => (Op::Drop, FIELD_COUNT),
        _ => return None,
    };
    if usize::from(part) >= PARTS.len() || usize::from(argument) >= limit {
        return None;
    }
    let fits = match op {
        Op::Mark | Op::Literal => transform == 0,
        Op::Drop => transform == 0 && !used.contains(&argument) && fields_of(event).contains(&argument),
        Op::Field => {
            let is_value = matches!(argument, ARGUMENTS | SCHEMA);
            let allowed = if is_value { matches!(transform, 0 | JSON) } else { transform <= STRIP_LEFT | STRIP_RIGHT };
            allowed && !used.contains(&argument) && fields_of(event).contains(&argument)
        }
    };
    if matches!(op, Op::Field | Op::Drop) && fits {
        used.push(argument);
    }
    fits.then_some(Action { op, part, argument, transform })
}

const fn fields_of(event: Event) -> &'static [u8] {
    match event {
        Event::System | Event::User | Event::Content | Event::Tool => &[CONTENT],
        Event::Schema => &[SCHEMA],
        Event::Reasoning => &[REASONING],
        Event::Call => &[NAME, ARGUMENTS],
        Event::Assistant | Event::Close | Event::Finish => &[],
    }
}

fn is_family(text: &[u8]) -> bool {
    let begins = text.first().is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    begins
        && text.len() <= MAX_NAME
        && text.iter().all(|&byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte))
}

fn is_state_name(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_uppercase)
        && text.len() <= MAX_NAME
        && text.iter().all(|&byte| byte.is_ascii_uppercase() || byte == b'_')
}
