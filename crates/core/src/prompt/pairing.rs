//! Which messages belong together: turns of `history` and calls of `steps` (contract/prompt.md, P-23, P-24).

use alloc::format;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::template::{Message, Role};

/// The turns of a history, each a range of its messages; `not_paired` where it is not turns.
pub(super) fn turns(history: &[Arc<Message>]) -> Result<Vec<Range<usize>>, Error> {
    let mut turns = Vec::new();
    let mut at = 0;
    while let Some(first) = history.get(at) {
        if first.role != Role::User {
            return Err(refusal("history", at, "a turn begins with a user message"));
        }
        let answer = rounds(history, at + 1, "history")?;
        match history.get(answer) {
            None => {
                let reason = "the turn has no answer: an assistant message without calls";
                return Err(refusal("history", answer - 1, reason));
            }
            Some(message) if message.role != Role::Assistant => {
                return Err(refusal("history", answer, stray(message)));
            }
            Some(_) => turns.push(at..answer + 1),
        }
        at = answer + 1;
    }
    Ok(turns)
}

/// Refuse steps that are not rounds of calls and responses: `not_paired`.
pub(super) fn check_steps(steps: &[Arc<Message>]) -> Result<(), Error> {
    let at = rounds(steps, 0, "steps")?;
    match steps.get(at) {
        None => Ok(()),
        Some(message) if message.role == Role::Assistant => {
            let reason = "an assistant message without calls ends the turn; the turn belongs to history then";
            Err(refusal("steps", at, reason))
        }
        Some(message) => Err(refusal("steps", at, stray(message))),
    }
}

/// Past every assistant message with calls that begins at `at` and all its responses.
fn rounds(messages: &[Arc<Message>], mut at: usize, field: &str) -> Result<usize, Error> {
    while let Some(message) = messages.get(at).filter(|message| !message.calls.is_empty()) {
        let calls = message.calls.len();
        let responses = messages.iter().skip(at + 1).take_while(|message| message.role == Role::Tool).count();
        if responses != calls {
            return Err(refusal(field, at, &format!("it has {calls} calls and {responses} responses")));
        }
        at += 1 + calls;
    }
    Ok(at)
}

const fn stray(message: &Message) -> &'static str {
    match message.role {
        Role::System => "the policy is the only system text",
        Role::User => "the turn before it has no answer",
        Role::Tool => "it answers no call",
        // Where a message stands that ends a turn, none is stray.
        Role::Assistant => "it has no partner",
    }
}

fn refusal(field: &str, index: usize, reason: &str) -> Error {
    let fields = [("field", field.to_string().into()), ("index", index.into()), ("reason", reason.to_string().into())];
    Error::new(ErrorCode::NotPaired, fields)
}
