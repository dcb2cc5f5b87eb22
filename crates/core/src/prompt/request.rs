//! The request of Prompt2: JSON becomes values that cannot be wrong (contract/prompt.md, P-10 to P-26).

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::ops::Range;

use super::degradation::Degradation;
use super::escape::Escaped;
use super::fields::Fields;
use super::pairing;
use super::policy::Policy;
use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::json::{JsonValue, beginning};
use crate::template::{Message, Reading, Role, parse_messages, parse_tools};

/// Decisions D9.
pub(super) const MAX_CONTEXT: i64 = 32_768;
/// What every host holds exactly.
pub(super) const MAX_COUNT: i64 = (1 << 53) - 1;
pub(super) const MIN_LIMIT: i64 = 16;
const SHOWN: usize = 64;
const LONGEST_IDENTIFIER: usize = 128;

const KEYS: &[&str] = &[
    "policy",
    "user_turn",
    "steps",
    "local_state",
    "retrieved",
    "history",
    "tools",
    "options",
    "budget",
    "degradation",
];

/// A fact of the application.
pub(super) struct Fact {
    pub(super) name: String,
    pub(super) value: Escaped,
    pub(super) priority: i64,
}

/// A retrieved passage; `limit` in tokens.
pub(super) struct Chunk {
    pub(super) id: String,
    pub(super) text: Escaped,
    pub(super) score: f64,
    pub(super) source: String,
    pub(super) limit: Option<usize>,
}

/// Tokens: of the whole window, and of the part kept for generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Budget {
    pub(super) context: usize,
    pub(super) reserve: usize,
}

/// A request that was checked. It holds the policy, so nothing prints it.
pub(super) struct Request {
    pub(super) policy: Policy,
    pub(super) user_turn: String,
    pub(super) steps: Vec<Arc<Message>>,
    /// In the order of the prompt: the highest priority first.
    pub(super) local_state: Vec<Fact>,
    /// In the order of the prompt: the highest score first.
    pub(super) retrieved: Vec<Chunk>,
    pub(super) history: Vec<Arc<Message>>,
    /// The messages of each turn of the history.
    pub(super) turns: Vec<Range<usize>>,
    /// JSON of each.
    pub(super) tools: Vec<String>,
    pub(super) enable_thinking: bool,
    pub(super) preserve_thinking: bool,
    pub(super) budget: Budget,
    pub(super) degradation: Option<Degradation>,
}

impl Request {
    /// Check a request, field by field in the order of the page.
    pub(super) fn parse(value: JsonValue, rewrites_arguments: bool) -> Result<Self, Error> {
        let mut fields = Fields::new(value, "", KEYS)?;
        let policy = Policy::new(fields.text("policy")?);
        let user_turn = fields.text("user_turn")?;
        check_shape(&user_turn, "user_turn", 0)?;
        let reading = Reading { rewrites_arguments, ..Reading::default() };
        let steps = messages(&mut fields, "steps", reading)?;
        pairing::check_steps(&steps)?;
        let mut local_state = each(fields.array("local_state")?, "local_state", fact)?;
        refuse_twins(local_state.iter().map(|fact| &*fact.name), "local_state", "name")?;
        let mut retrieved = each(fields.array("retrieved")?, "retrieved", chunk)?;
        refuse_twins(retrieved.iter().map(|chunk| &*chunk.id), "retrieved", "id")?;
        let history = messages(&mut fields, "history", reading)?;
        let turns = pairing::turns(&history)?;
        for (index, message) in history.iter().enumerate().filter(|(_, message)| message.role == Role::User) {
            check_shape(&message.content, "history", index)?;
        }
        let tools = parse_tools(fields.optional("tools"))?;
        let (enable_thinking, preserve_thinking) = options(fields.optional("options"))?;
        let budget = budget(fields.required("budget")?)?;
        let degradation = Degradation::parse(fields.optional("degradation"))?;
        local_state.sort_unstable_by(|a, b| b.priority.cmp(&a.priority).then_with(|| a.name.cmp(&b.name)));
        retrieved.sort_unstable_by(by_score);
        Ok(Self {
            policy,
            user_turn,
            steps,
            local_state,
            retrieved,
            history,
            turns,
            tools,
            enable_thinking,
            preserve_thinking,
            budget,
            degradation,
        })
    }

    /// What prompt and passes may take.
    pub(super) const fn available(&self) -> usize {
        self.budget.context - self.budget.reserve
    }
}

/// P-42: descending score, ties by id. Scores are finite, and -0 is 0.
fn by_score(left: &Chunk, right: &Chunk) -> Ordering {
    right.score.partial_cmp(&left.score).unwrap_or(Ordering::Equal).then_with(|| left.id.cmp(&right.id))
}

/// `history` or `steps` as Template2 reads messages; a refusal names the list and the place in it.
fn messages(fields: &mut Fields<'_>, name: &'static str, reading: Reading) -> Result<Vec<Arc<Message>>, Error> {
    let values = JsonValue::Array(fields.array(name)?);
    parse_messages(values, Reading { list: name, ..reading }).map_err(|error| located(error, name, 0))
}

/// A refusal of Template2 in terms of the request; one without an index is returned as it is.
///
/// `error` counts messages from the first one of a conversation, in which `shift` messages stand before the list `field`. The user turn
/// counts as a list of one.
pub(super) fn located(mut error: Error, field: &str, shift: usize) -> Error {
    let mut found = None;
    for (name, value) in &mut error.fields {
        if let ("index", crate::error::Value::Int(index)) = (*name, value) {
            *index -= (shift as u64).min(*index);
            found = Some(*index);
        }
    }
    let Some(index) = found else { return error };
    let path = if field == "user_turn" { field.to_string() } else { format!("{field}[{index}]") };
    let fields =
        [("field", path.into()), ("cause", error.code.as_str().to_string().into()), ("reason", error.message().into())];
    Error::new(ErrorCode::MessageRefused, fields)
}

/// P-25: looked at as given, so that what is put before the user's words never changes the verdict.
fn check_shape(text: &str, field: &str, index: usize) -> Result<(), Error> {
    if text.starts_with("<tool_response>") && text.ends_with("</tool_response>") {
        return Err(located(Error::new(ErrorCode::ReservedUserShape, [("index", index.into())]), field, 0));
    }
    Ok(())
}

fn each<T>(
    values: Vec<JsonValue>,
    array: &str,
    parse: fn(JsonValue, &str) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    values.into_iter().enumerate().map(|(index, value)| parse(value, &format!("{array}[{index}]"))).collect()
}

fn fact(value: JsonValue, path: &str) -> Result<Fact, Error> {
    let mut fields = Fields::new(value, path, &["name", "value", "priority"])?;
    let name = identifier(&mut fields, "name")?;
    let value = fields.text("value")?;
    if value.contains(['\n', '\r']) {
        return Err(Error::new(ErrorCode::LineBreakInValue, [("field", fields.at("value").into())]));
    }
    let priority = fields.integer("priority", -MAX_COUNT, MAX_COUNT)?;
    Ok(Fact { name, value: Escaped::new(value), priority })
}

fn chunk(value: JsonValue, path: &str) -> Result<Chunk, Error> {
    let mut fields = Fields::new(value, path, &["id", "text", "score", "source", "limit"])?;
    let id = identifier(&mut fields, "id")?;
    let text = fields.text("text")?;
    let score = fields.number("score")?;
    let source = identifier(&mut fields, "source")?;
    let limit = match fields.optional("limit") {
        JsonValue::Null => None,
        given => Some(whole(fields.integer_of(&given, "limit", MIN_LIMIT, MAX_CONTEXT)?)),
    };
    // -0 and 0 are one score.
    Ok(Chunk { id, text: Escaped::new(text), score: score + 0.0, source, limit })
}

/// A count that was checked not to be negative.
pub(super) fn whole(number: i64) -> usize {
    usize::try_from(number).unwrap_or(0)
}

fn identifier(fields: &mut Fields<'_>, name: &str) -> Result<String, Error> {
    let value = fields.text(name)?;
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:/-".contains(&byte);
    if (1..=LONGEST_IDENTIFIER).contains(&value.len()) && value.bytes().all(is_known) {
        return Ok(value);
    }
    let fields = [("field", fields.at(name).into()), ("found", beginning(&value, SHOWN).into())];
    Err(Error::new(ErrorCode::BadIdentifier, fields))
}

fn refuse_twins<'n>(names: impl Iterator<Item = &'n str>, array: &str, field: &str) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    for (index, name) in names.enumerate() {
        if !seen.insert(Cow::Borrowed(name)) {
            let fields = [("field", format!("{array}[{index}].{field}").into()), ("found", name.to_string().into())];
            return Err(Error::new(ErrorCode::DuplicateIdentifier, fields));
        }
    }
    Ok(())
}

fn options(value: JsonValue) -> Result<(bool, bool), Error> {
    let value = if value == JsonValue::Null { JsonValue::Object(Vec::new()) } else { value };
    let mut fields = Fields::new(value, "options", &["enable_thinking", "preserve_thinking"])?;
    let enable_thinking = fields.flag("enable_thinking", true)?;
    Ok((enable_thinking, fields.flag("preserve_thinking", false)?))
}

fn budget(value: JsonValue) -> Result<Budget, Error> {
    let mut fields = Fields::new(value, "budget", &["context", "reserve"])?;
    let context = fields.integer("context", 1, MAX_CONTEXT)?;
    let reserve = fields.integer("reserve", 0, context)?;
    Ok(Budget { context: whole(context), reserve: whole(reserve) })
}
