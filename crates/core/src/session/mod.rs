//! A conversation that keeps its cache: messages in, what to keep and what to append out (contract/template.md, M-100 to M-107).
//!
//! A session computes what the template makes of the messages that are new or have changed, and nothing before them. A call that fails
//! leaves the session as it was.

mod builder;
mod checkpoint;
mod chunks;
mod delta;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::by_place::ByPlace;
use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::ids::TokenId;
use crate::json::{JsonValue, write_inside};
use crate::template::compose::rewrites_arguments;
use crate::template::events::{Events, last_query};
use crate::template::messages::{self, Conversation, Message, Reading, given, invalid_type, taken};
use crate::template::{Options, ReplyEvent, ReplyKind, ReplyReader, Template, flag};
use crate::tokenizer::{Profile, Scratch};
use builder::{Builder, Workshop};
use chunks::{Chunk, Chunks, Minds};

pub use delta::{Delta, Loss, LossReason};

/// Arrays and objects of a checkpoint around a message or a tool, which count for how deep these may nest (M-31).
const AROUND: usize = 3;

/// What stays for the life of a session.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// A list of JSON schemas, or null.
    pub tools: JsonValue,
    /// Of each generation prompt: false closes the reasoning, true and `None` leave it to the model.
    pub enable_thinking: Option<bool>,
    /// Keep the reasoning of every assistant turn (M-58); a reply then keeps its ids, and the cache only ever grows (M-102).
    pub preserve_thinking: bool,
}

impl SessionOptions {
    /// The fields by name, all of which may be absent or null: `unknown_field`, `invalid_type`.
    pub fn from_json(value: JsonValue) -> Result<Self, Error> {
        let JsonValue::Object(members) = value else {
            return Err(invalid_type(String::from("options"), "object", &value));
        };
        let mut members = given(members, &["tools", "enable_thinking", "preserve_thinking"], &String::new)?;
        Ok(Self {
            enable_thinking: flag(&taken(&mut members, "enable_thinking"), "enable_thinking")?,
            preserve_thinking: flag(&taken(&mut members, "preserve_thinking"), "preserve_thinking")? == Some(true),
            tools: taken(&mut members, "tools"),
        })
    }
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self { tools: JsonValue::Null, enable_thinking: None, preserve_thinking: false }
    }
}

/// One conversation in one profile. A clone is a fork: it goes on by itself, and shares what both had.
///
/// It holds no artifact: each call must bring the same artifact's template.
///
/// ```
/// use slm2_core::{Artifact, JsonValue, Profile, Scratch, Session, SessionOptions, Template};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let artifact = Artifact::from_bytes(std::fs::read("../../src/slm2/data/qwen3-0.6b.slm2")?)?;
/// let template = Template::new(&artifact)?;
/// let mut scratch = Scratch::new(1 << 24)?;
/// let mut session = Session::new(&template, Profile::Contract, SessionOptions::default())?;
///
/// let hello = JsonValue::from_json(br#"[{"role": "user", "content": "Hello"}]"#)?;
/// let delta = session.extend(&template, hello, None, &mut scratch)?;
/// assert_eq!((delta.keep, delta.append.len()), (0, 9)); // to the model, which answers from ASSISTANT_OPEN on
///
/// session.reply(&template, &[13048, 0, 151_645])?; // Hi!<|im_end|>
/// let bye = JsonValue::from_json(br#"[{"role": "user", "content": "Bye"}]"#)?;
/// let delta = session.extend(&template, bye, None, &mut scratch)?;
/// assert_eq!(delta.keep, 12); // all that is cached stays
///
/// let restored = Session::restore(&template, session.save(&template).as_bytes(), &mut scratch)?;
/// assert_eq!(restored.cached_ids(), session.cached_ids());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Session {
    profile: Profile,
    options: Options,
    minds: Arc<Minds>,
    /// Of its own where it changes: forks share it until then.
    state: Arc<State>,
}

/// All that a session knows.
#[derive(Clone, Debug, Default)]
struct State {
    /// Messages as JSON, as they were given; replies as they were read.
    given: Vec<Arc<str>>,
    conversation: Conversation,
    /// Replies by their ids.
    records: ByPlace<Arc<Record>>,
    /// Ids of messages, without those of a reply that came last.
    chunks: Chunks,
    cached: Vec<Arc<Chunk>>,
    /// The state in which the prompt ended that waits for a reply.
    waiting: Option<u8>,
}

/// What a step makes of the messages: how many chunks are kept, those that follow, and on what they depend.
struct Composed {
    kept: usize,
    fresh: Vec<Arc<Chunk>>,
    after: Chunks,
}

impl State {
    /// The chunks of a step.
    fn take(&mut self, composed: Composed) {
        let mut all = core::mem::take(&mut self.chunks.all);
        all.truncate(composed.kept);
        all.extend(composed.fresh);
        self.chunks = Chunks { all, ..composed.after };
    }

    /// The cache is what is kept of the chunks, and others after that.
    fn cache(&mut self, kept: usize, fresh: &[Arc<Chunk>]) {
        let kept = self.chunks.all.get(..kept).unwrap_or_default();
        let is_same = |(left, right): &(&Arc<Chunk>, &Arc<Chunk>)| Arc::ptr_eq(left, right);
        let same = self.cached.iter().zip(kept).take_while(is_same).count();
        self.cached.truncate(same);
        self.cached.extend(kept.iter().skip(same).chain(fresh).cloned());
    }
}

/// A reply by its ids.
#[derive(Debug)]
struct Record {
    /// Ids of the generation prompt before it.
    head: Box<[TokenId]>,
    /// Its own.
    ids: Box<[TokenId]>,
    /// Whether it has the end of its turn itself.
    ended: bool,
    /// Of the machine before it.
    state: u8,
}

/// A reply that was read to its end.
struct Read {
    ids: Box<[TokenId]>,
    events: Vec<ReplyEvent>,
    ended: bool,
    /// Its message: as JSON, and as it was parsed.
    json: String,
    message: Arc<Message>,
}

impl Session {
    /// An empty conversation. Refused are tools that are none (M-21) and those that nest too deeply for a checkpoint (M-106).
    pub fn new(template: &Template<'_>, profile: Profile, options: SessionOptions) -> Result<Self, Error> {
        let fits = texts(&options.tools, "tools", 0).map(drop);
        let tools = messages::parse_tools(options.tools)?;
        fits?;
        Ok(Self {
            profile,
            options: Options {
                enable_thinking: options.enable_thinking,
                add_generation_prompt: true,
                continues: None,
                preserve_thinking: options.preserve_thinking,
            },
            minds: Arc::new(Minds::of(template.program)),
            state: Arc::new(State {
                conversation: Conversation { messages: Vec::new(), tools: tools.into() },
                ..State::default()
            }),
        })
    }

    /// How many messages there are.
    #[must_use]
    pub fn message_count(&self) -> usize {
        self.state.given.len()
    }

    /// The messages so far, each as JSON; replies are in it as they were read.
    pub fn messages(&self) -> impl Iterator<Item = &str> {
        self.state.given.iter().map(|message| &**message)
    }

    /// What the model's cache holds when every delta was followed: the last prompt and, after it, its reply.
    #[must_use]
    pub fn cached_ids(&self) -> Vec<TokenId> {
        delta::ids(&self.state.cached).collect()
    }

    /// Add messages, a JSON array of what is new, of any roles, and ask for a reply. `enable_thinking` is for this generation prompt;
    /// `None` takes the session's. The refusals are those of contract/template.md.
    pub fn extend(
        &mut self,
        template: &Template<'_>,
        messages: JsonValue,
        enable_thinking: Option<bool>,
        scratch: &mut Scratch,
    ) -> Result<Delta, Error> {
        let options = Options { enable_thinking: enable_thinking.or(self.options.enable_thinking), ..self.options };
        let count = self.message_count();
        let given = texts(&messages, "messages", count);
        let fresh = messages::parse(messages, self.reading(template))?;
        let given = given?;
        Arc::make_mut(&mut self.state).conversation.messages.extend(fresh);
        let prompted = self.prompted(template, options, scratch);
        let state = Arc::make_mut(&mut self.state);
        match prompted {
            Ok((mut composed, end, waiting)) => {
                let kept = composed.kept;
                composed.fresh.push(Arc::new(end));
                let chunks = state.chunks.all.get(..kept).unwrap_or_default();
                let name = template.program.state_name(waiting);
                let delta = Delta::between(&state.cached, chunks, &composed.fresh, name);
                state.given.extend(given);
                state.cache(kept, &composed.fresh);
                state.waiting = Some(waiting);
                composed.fresh.pop();
                state.take(composed);
                Ok(delta)
            }
            Err(error) => {
                state.conversation.messages.truncate(count);
                Err(error)
            }
        }
    }

    /// Add the reply to the last prompt by its ids, which are then in the cache: what it says.
    ///
    /// `no_prompt` where no prompt waits for a reply or there are no ids; `reply_refused` for a structural id that no reply may hold
    /// there, or an id after the end of the turn; `ill_formed_text`; `token_id_out_of_range`. Other faults are told and do not refuse.
    pub fn reply(&mut self, template: &Template<'_>, ids: &[u32]) -> Result<Vec<ReplyEvent>, Error> {
        let (Some(state), Some(head), false) = (self.state.waiting, self.state.cached.last(), ids.is_empty()) else {
            return Err(Error::new(ErrorCode::NoPrompt, []));
        };
        let count = self.message_count();
        let read = read_reply(template, state, ids, self.reading(template))?;
        let record = Record { head: head.ids.clone(), ids: read.ids, ended: read.ended, state };
        let whole = Chunk {
            message: count,
            ids: record.head.iter().chain(&record.ids).copied().collect(),
            before: head.before,
            unanswered: Box::default(),
            end: head.end + record.ids.len(),
            reasons: true,
            waits: false,
            is_open: false,
        };
        let state = Arc::make_mut(&mut self.state);
        state.given.push(read.json.into());
        state.conversation.messages.push(read.message);
        state.records.insert(count, Arc::new(record));
        state.cached.pop();
        state.cached.push(Arc::new(whole));
        state.waiting = None;
        Ok(read.events)
    }

    /// The prompt up to the last turn in the form that it has once a user turn follows, for prefilling while the model is idle. The
    /// session does not change; to follow it, [`Session::settle`]. `role_order` where the last turn is a user's.
    pub fn settled(&self, template: &Template<'_>, scratch: &mut Scratch) -> Result<Delta, Error> {
        self.settling(template, scratch).map(|(_, delta)| delta)
    }

    /// [`Session::settled`], and the cache holds it from now on.
    pub fn settle(&mut self, template: &Template<'_>, scratch: &mut Scratch) -> Result<Delta, Error> {
        let (composed, delta) = self.settling(template, scratch)?;
        let state = Arc::make_mut(&mut self.state);
        state.cache(composed.kept, &composed.fresh);
        state.waiting = None;
        Ok(delta)
    }

    fn settling(&self, template: &Template<'_>, scratch: &mut Scratch) -> Result<(Composed, Delta), Error> {
        let count = self.message_count();
        let mut longer = self.state.conversation.clone();
        longer.messages.push(Arc::new(Message::question()));
        let mut composed = self.composed(template, &longer, self.options, scratch)?.0;
        composed.fresh.retain(|chunk| chunk.message < count);
        let kept = self.state.chunks.all.get(..composed.kept).unwrap_or_default();
        let delta = Delta::between(&self.state.cached, kept, &composed.fresh, template.program.state_name(0));
        Ok((composed, delta))
    }

    fn reading(&self, template: &Template<'_>) -> Reading {
        Reading {
            first: self.message_count(),
            list: "messages",
            continues_reasoning: false,
            rewrites_arguments: rewrites_arguments(template.program),
        }
    }

    /// What all messages make, the generation prompt after them, and the state in which it ends.
    fn prompted(
        &self,
        template: &Template<'_>,
        options: Options,
        scratch: &mut Scratch,
    ) -> Result<(Composed, Chunk, u8), Error> {
        let conversation = &self.state.conversation;
        let (composed, mut builder) = self.composed(template, conversation, options, scratch)?;
        let mut walk = Events::new(template.program, conversation, options, composed.after.query, Vec::new());
        walk.end();
        let end = builder.prompt(&walk.take(), conversation.messages.len())?;
        Ok((composed, end, builder.state))
    }

    /// What all messages make, and what built it, which stands after the last one.
    fn composed<'w>(
        &self,
        template: &'w Template<'w>,
        conversation: &'w Conversation,
        options: Options,
        scratch: &'w mut Scratch,
    ) -> Result<(Composed, Builder<'w>), Error> {
        let all = &conversation.messages;
        let query = last_query(template.program, all);
        let kept = self.state.chunks.kept(&self.minds, all, query, options.enable_thinking);
        let mut walk = Events::new(template.program, conversation, options, query, kept.unanswered.into());
        let workshop = Workshop { template, profile: self.profile, conversation, scratch };
        let mut builder = Builder::new(workshop, &kept);
        for index in kept.next..all.len() {
            builder.begin(index, walk.unanswered());
            walk.turn(index);
            let symbols = walk.take();
            match self.state.records.get(index).filter(|_| options.preserve_thinking) {
                None => builder.take(&symbols)?,
                Some(record) => builder.take_record(&symbols, &[&record.head, &record.ids], record.ended)?,
            }
        }
        let fresh = builder.finished()?;
        let after = Chunks {
            all: Vec::new(),
            messages: all.len(),
            query,
            thinking: options.enable_thinking,
            state: builder.state,
            unanswered: walk.unanswered().into(),
        };
        Ok((Composed { kept: kept.chunks.len(), fresh, after }, builder))
    }
}

/// The JSON of each element of an array, the first of which has the index `first`; a session keeps nothing that a checkpoint could not
/// hold.
fn texts(array: &JsonValue, field: &str, first: usize) -> Result<Vec<Arc<str>>, Error> {
    let JsonValue::Array(elements) = array else { return Ok(Vec::new()) };
    let each = (first..).zip(elements);
    each.map(|(index, element)| Ok(write_inside(element, &|| format!("{field}[{index}]"), AROUND)?.into())).collect()
}

/// Read a whole reply, whose structural ids have business where they stand.
fn read_reply(template: &Template<'_>, state: u8, ids: &[u32], reading: Reading) -> Result<Read, Error> {
    let mut reader = ReplyReader::new(template, template.program.state_name(state))?;
    let mut events = reader.push(template, ids)?;
    let mut taken = 0;
    for event in &events {
        taken += event.ids.len();
        match event.kind {
            ReplyKind::IllFormed => return Err(ill_formed(ids, event)),
            ReplyKind::Unexpected => {
                let position = taken.saturating_sub(1);
                let id = event.ids.last().copied().unwrap_or_default();
                let fields = [("position", position.into()), ("id", id.into())];
                return Err(Error::new(ErrorCode::ReplyRefused, fields));
            }
            _ => {}
        }
    }
    // Ids after a scalar value that is still open are no text either.
    events.extend(reader.finish(template)?);
    if let Some(last) = events.last().filter(|event| event.kind == ReplyKind::IllFormed) {
        return Err(ill_formed(ids, last));
    }
    let message = reader.message();
    let json = write_inside(&message, &|| format!("messages[{}]", reading.first), AROUND)?;
    let parsed = messages::parse(JsonValue::Array(Vec::from([message])), reading)?;
    Ok(Read {
        ids: ids.iter().copied().map(TokenId::new).collect(),
        ended: events.iter().any(|event| event.kind == ReplyKind::End && event.reason == "end_turn"),
        events,
        json,
        message: parsed.into_iter().next().ok_or_else(|| Error::new(ErrorCode::NoPrompt, []))?,
    })
}

fn ill_formed(ids: &[u32], event: &ReplyEvent) -> Error {
    let fields = [
        ("position", ids.len().into()),
        ("id", ids.last().copied().unwrap_or_default().into()),
        ("text", String::new().into()),
        ("pending", event.text.clone().into()),
    ];
    Error::new(ErrorCode::IllFormedText, fields)
}
