//! The digest that names a request (contract/prompt.md, P-76).

use alloc::string::String;

use super::degradation::Degradation;
use super::request::Request;
use crate::artifact::{hex, sha256};
use crate::json::{JsonValue, quote};
use crate::template::Message;

/// SHA-256 of the canonical form of a request, in which the policy's digest stands for its text.
pub(super) fn of_request(request: &Request) -> String {
    let mut text = String::new();
    let policy = [("sha256", request.policy.digest().into()), ("length", request.policy.length().into())];
    member(&mut text, "{", "policy", &JsonValue::object(policy));
    member(&mut text, ", ", "user_turn", &request.user_turn.as_str().into());
    member(&mut text, ", ", "steps", &JsonValue::array(request.steps.iter().map(|each| message(each))));
    let facts = request.local_state.iter().map(|fact| {
        let (name, value) = (fact.name.as_str().into(), fact.value.given_text().into());
        JsonValue::object([("name", name), ("value", value), ("priority", integer(fact.priority))])
    });
    member(&mut text, ", ", "local_state", &JsonValue::array(facts));
    let chunks = request.retrieved.iter().map(|chunk| {
        JsonValue::object([
            ("id", chunk.id.as_str().into()),
            ("text", chunk.text.given_text().into()),
            ("score", JsonValue::Float(chunk.score)),
            ("source", chunk.source.as_str().into()),
            ("limit", chunk.limit.map_or(JsonValue::Null, JsonValue::from)),
        ])
    });
    member(&mut text, ", ", "retrieved", &JsonValue::array(chunks));
    member(&mut text, ", ", "history", &JsonValue::array(request.history.iter().map(|each| message(each))));
    // Schemas are JSON already.
    text.push_str(", \"tools\": [");
    text.push_str(&request.tools.join(", "));
    text.push(']');
    let options = [
        ("enable_thinking", JsonValue::Bool(request.enable_thinking)),
        ("preserve_thinking", JsonValue::Bool(request.preserve_thinking)),
    ];
    member(&mut text, ", ", "options", &JsonValue::object(options));
    let budget = [("context", request.budget.context.into()), ("reserve", request.budget.reserve.into())];
    member(&mut text, ", ", "budget", &JsonValue::object(budget));
    member(&mut text, ", ", "degradation", &request.degradation.as_ref().map_or(JsonValue::Null, degradation));
    text.push('}');
    hex(&sha256(text.as_bytes()), "")
}

fn member(text: &mut String, before: &str, name: &str, value: &JsonValue) {
    text.push_str(before);
    quote(name, text);
    text.push_str(": ");
    text.push_str(&value.to_json());
}

fn integer(number: i64) -> JsonValue {
    JsonValue::Int(alloc::format!("{number}"))
}

fn optional(text: Option<&String>) -> JsonValue {
    text.map_or(JsonValue::Null, |text| text.as_str().into())
}

/// What the template reads of a message.
fn message(message: &Message) -> JsonValue {
    let calls = message.calls.iter().map(|call| {
        JsonValue::object([
            ("name", call.name.as_str().into()),
            ("arguments", call.arguments.as_str().into()),
            ("id", optional(call.id.as_ref())),
        ])
    });
    JsonValue::object([
        ("role", message.role.name().into()),
        ("content", message.content.as_str().into()),
        ("reasoning_content", optional(message.reasoning.as_ref())),
        ("tool_calls", JsonValue::array(calls)),
        ("tool_call_id", optional(message.tool_call_id.as_ref())),
    ])
}

fn degradation(floors: &Degradation) -> JsonValue {
    JsonValue::object([
        ("keep_turns", floors.keep_turns.into()),
        ("keep_chunks", floors.keep_chunks.into()),
        ("active_turns", floors.active_turns.into()),
        ("chunk_limit", floors.chunk_limit.into()),
        ("tool_limit", floors.tool_limit.into()),
        ("sweep", if floors.sweep { "allow" } else { "refuse" }.into()),
        ("headroom", floors.headroom.into()),
    ])
}
