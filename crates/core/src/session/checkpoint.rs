//! A session as JSON that names what it belongs to (contract/template.md, M-106).

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Write;

use sha2::{Digest, Sha256};

use super::chunks::Chunk;
use super::delta::write_ids;
use super::{Record, Session, SessionOptions, State, read_reply, texts};
use crate::artifact::hex;
use crate::by_place::ByPlace;
use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::ids::TokenId;
use crate::json::{JsonValue, quote, read, write};
use crate::template::Template;
use crate::template::messages::{self, Conversation, shown};
use crate::tokenizer::{Profile, Scratch};

const KIND: &str = "slm2 session 1";

impl Session {
    /// A checkpoint: JSON that names the artifact, the profile, the conversation, and the ids that the cache holds.
    #[must_use]
    pub fn save(&self, template: &Template<'_>) -> String {
        let content = self.content(template);
        let digest = hex(&Sha256::digest(content.as_bytes()), "");
        format!("{{\"checkpoint\": {content}, \"sha256\": \"{digest}\"}}\n")
    }

    /// The session of a checkpoint, with a cache that holds what it held: `checkpoint_refused` where it was damaged or made with another
    /// artifact; `json_invalid`, `json_duplicate_key`, `json_number`.
    pub fn restore(template: &Template<'_>, data: &[u8], scratch: &mut Scratch) -> Result<Self, Error> {
        let document = read(data)?;
        let content = member(&document, "checkpoint");
        let kind = content.and_then(|content| member(content, "kind"));
        let (Some(content), true) = (content, kind.and_then(text) == Some(KIND)) else {
            return Err(refused("it is no checkpoint of a session".to_string()));
        };
        let written = write(content, &|| "checkpoint".to_string())?;
        let digest = hex(&Sha256::digest(written.as_bytes()), "");
        if member(&document, "sha256").and_then(text) != Some(&digest) {
            return Err(refused("it was changed after it was saved".to_string()));
        }
        let artifact = member(content, "semantic_digest").unwrap_or(&JsonValue::Null);
        if text(artifact) != Some(&template.tokenizer.digest_text()) {
            return Err(refused(format!("it belongs to the artifact {}", shown(artifact))));
        }
        // What is not said in the form in which it is saved says something else than it seems to.
        let restored = restored(template, content, scratch);
        restored
            .filter(|session| session.content(template) == written)
            .ok_or_else(|| refused("what it holds is no conversation of a session".to_string()))
    }

    fn content(&self, template: &Template<'_>) -> String {
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = write!(
            out,
            "{{\"kind\": \"{KIND}\", \"semantic_digest\": \"{}\", \"profile\": \"{}\", \"enable_thinking\": {}, \
             \"preserve_thinking\": {}, \"tools\": ",
            template.tokenizer.digest_text(),
            self.profile.name(),
            match self.options.enable_thinking {
                None => "null",
                Some(true) => "true",
                Some(false) => "false",
            },
            self.options.preserve_thinking,
        );
        list(&mut out, self.state.conversation.tools.iter(), |tool, out| out.push_str(tool));
        out.push_str(", \"messages\": ");
        list(&mut out, self.state.given.iter(), |message, out| out.push_str(message));
        out.push_str(", \"records\": {");
        for (place, (index, record)) in self.state.records.iter().enumerate() {
            let _ = write!(out, "{}\"{index}\": [", if place > 0 { ", " } else { "" });
            write_ids(&record.head, &mut out);
            out.push_str(", ");
            write_ids(&record.ids, &mut out);
            let _ = write!(out, ", {}, ", record.ended);
            quote(template.program.state_name(record.state), &mut out);
            out.push(']');
        }
        out.push_str("}, \"cached\": ");
        list(&mut out, self.state.cached.iter(), |chunk, out| {
            let _ = write!(out, "[{}, ", chunk.message);
            write_ids(&chunk.ids, out);
            let _ = write!(out, ", {}, {}]", chunk.reasons, chunk.waits);
        });
        out.push_str(", \"state\": ");
        match self.state.waiting {
            None => out.push_str("null"),
            Some(state) => quote(template.program.state_name(state), &mut out),
        }
        out.push('}');
        out
    }
}

fn list<T>(out: &mut String, elements: impl Iterator<Item = T>, write: impl Fn(T, &mut String)) {
    out.push('[');
    for (at, element) in elements.enumerate() {
        out.push_str(if at > 0 { ", " } else { "" });
        write(element, out);
    }
    out.push(']');
}

fn refused(reason: String) -> Error {
    Error::new(ErrorCode::CheckpointRefused, [("reason", reason.into())])
}

/// `None` where it is no conversation; what is said in another form than that of a checkpoint may pass.
fn restored(template: &Template<'_>, content: &JsonValue, scratch: &mut Scratch) -> Option<Session> {
    let options = SessionOptions {
        tools: member(content, "tools")?.clone(),
        enable_thinking: match member(content, "enable_thinking")? {
            JsonValue::Null => None,
            value => Some(flag(value)?),
        },
        preserve_thinking: flag(member(content, "preserve_thinking")?)?,
    };
    let profile = Profile::from_name(text(member(content, "profile")?)?)?;
    let mut session = Session::new(template, profile, options).ok()?;
    let given = member(content, "messages")?;
    let read = State {
        given: texts(given, "messages", 0).ok()?,
        conversation: Conversation {
            messages: messages::parse(given.clone(), session.reading(template)).ok()?,
            tools: Arc::clone(&session.state.conversation.tools),
        },
        ..State::default()
    };
    session.state = Arc::new(read);
    let records = records(template, member(content, "records")?, &session)?;
    let cached = cached(template, member(content, "cached")?, session.message_count())?;
    let waiting = match member(content, "state")? {
        JsonValue::Null => None,
        name => Some(state(template, name)?),
    };
    // A prompt waits for its reply where its head is the last of what is cached, and nowhere else.
    let waits = cached.iter().filter(|chunk| chunk.waits).count();
    if waits != usize::from(waiting.is_some()) || waiting.is_some() != cached.last().is_some_and(|chunk| chunk.waits) {
        return None;
    }
    let state = Arc::make_mut(&mut session.state);
    (state.records, state.cached, state.waiting) = (records, cached, waiting);
    let composed = session.composed(template, &session.state.conversation, session.options, scratch).ok()?.0;
    Arc::make_mut(&mut session.state).take(composed);
    Some(session)
}

fn records(template: &Template<'_>, value: &JsonValue, session: &Session) -> Option<ByPlace<Arc<Record>>> {
    let JsonValue::Object(members) = value else { return None };
    let mut records = ByPlace::new();
    for (key, value) in members {
        let index: usize = key.text.parse().ok()?;
        let [head, ids, _, name] = elements(value)? else { return None };
        let (head, ids, state) = (self::ids(template, head)?, self::ids(template, ids)?, state(template, name)?);
        let numbers: Vec<u32> = ids.iter().map(|id| id.get()).collect();
        let read = read_reply(template, state, &numbers, session.reading(template)).ok()?;
        let is_message = session.state.given.get(index).is_some_and(|message| **message == *read.json);
        if !is_message || ids.is_empty() {
            return None;
        }
        records.insert(index, Arc::new(Record { head, ids, ended: read.ended, state }));
    }
    Some(records)
}

fn cached(template: &Template<'_>, value: &JsonValue, messages: usize) -> Option<Vec<Arc<Chunk>>> {
    let mut end = 0;
    let chunk = |value: &JsonValue| {
        let [message, ids, reasons, waits] = elements(value)? else { return None };
        let message = number(message).and_then(|number| usize::try_from(number).ok())?;
        let ids = self::ids(template, ids)?;
        end += ids.len();
        let chunk = Chunk {
            message,
            ids,
            end,
            before: 0,
            unanswered: Box::default(),
            reasons: flag(reasons)?,
            waits: flag(waits)?,
            is_open: false,
        };
        (message <= messages).then(|| Arc::new(chunk))
    };
    elements(value)?.iter().map(chunk).collect()
}

fn member<'v>(value: &'v JsonValue, name: &str) -> Option<&'v JsonValue> {
    let JsonValue::Object(members) = value else { return None };
    members.iter().find(|(key, _)| key.text == name).map(|(_, value)| value)
}

fn text(value: &JsonValue) -> Option<&str> {
    if let JsonValue::Text(text) = value { Some(text) } else { None }
}

fn flag(value: &JsonValue) -> Option<bool> {
    if let JsonValue::Bool(flag) = value { Some(*flag) } else { None }
}

fn number(value: &JsonValue) -> Option<u64> {
    if let JsonValue::Int(digits) = value { digits.parse().ok() } else { None }
}

fn elements(value: &JsonValue) -> Option<&[JsonValue]> {
    if let JsonValue::Array(elements) = value { Some(elements) } else { None }
}

/// Ids, each of which has a token.
fn ids(template: &Template<'_>, value: &JsonValue) -> Option<Box<[TokenId]>> {
    let id = |value: &JsonValue| {
        let id = number(value).and_then(|number| u32::try_from(number).ok())?;
        template.tokenizer.meaning(0, id).ok().map(|_| TokenId::new(id))
    };
    elements(value)?.iter().map(id).collect()
}

fn state(template: &Template<'_>, name: &JsonValue) -> Option<u8> {
    let name = text(name)?;
    let place = template.program.states.iter().position(|state| state == name);
    place.and_then(|place| u8::try_from(place).ok())
}
