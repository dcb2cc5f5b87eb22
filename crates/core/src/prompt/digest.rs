//! The digest that names a request (contract/prompt.md, P-76).

use alloc::string::{String, ToString};

use super::degradation::Degradation;
use super::request::Request;
use crate::artifact::{Digester, hex};
use crate::json::{JsonValue, quote};
use crate::template::Message;

/// So much of the canonical form is written before it is digested.
const BLOCK: usize = 1 << 14;

/// SHA-256 of the canonical form of a request, in which the policy's digest stands for its text.
pub(super) fn of_request(request: &Request) -> String {
    let mut form = Form { text: String::new(), digester: Digester::default() };
    let policy = [("sha256", request.policy.digest().into()), ("length", request.policy.length().into())];
    form.member("{", "policy", &JsonValue::object(policy));
    form.text(", ", "user_turn", &request.user_turn);
    form.array("steps", &request.steps, |form, message| form.message(message));
    form.array("local_state", &request.local_state, |form, fact| {
        form.text("{", "name", &fact.name);
        form.text(", ", "value", &fact.value.given_text());
        form.plain(", ", "priority", &fact.priority.to_string());
    });
    form.array("retrieved", &request.retrieved, |form, chunk| {
        form.text("{", "id", &chunk.id);
        form.text(", ", "text", &chunk.text.given_text());
        form.member(", ", "score", &JsonValue::Float(chunk.score));
        form.text(", ", "source", &chunk.source);
        form.member(", ", "limit", &chunk.limit.map_or(JsonValue::Null, JsonValue::from));
    });
    form.array("history", &request.history, |form, message| form.message(message));
    // Schemas are JSON already.
    form.plain(", ", "tools", &alloc::format!("[{}]", request.tools.join(", ")));
    let options = [
        ("enable_thinking", JsonValue::Bool(request.enable_thinking)),
        ("preserve_thinking", JsonValue::Bool(request.preserve_thinking)),
    ];
    form.member(", ", "options", &JsonValue::object(options));
    let budget = [("context", request.budget.context.into()), ("reserve", request.budget.reserve.into())];
    form.member(", ", "budget", &JsonValue::object(budget));
    form.member(", ", "degradation", &request.degradation.as_ref().map_or(JsonValue::Null, degradation));
    form.put("}");
    form.digester.update(form.text.as_bytes());
    hex(&form.digester.finish(), "")
}

/// The canonical form as it is written.
struct Form {
    text: String,
    digester: Digester,
}

impl Form {
    fn put(&mut self, text: &str) {
        if self.text.len() > BLOCK {
            self.digester.update(self.text.as_bytes());
            self.text.clear();
        }
        self.text.push_str(text);
    }

    /// A member that is JSON already; `before` is a comma, or the bracket of its object.
    fn plain(&mut self, before: &str, name: &str, json: &str) {
        self.put(before);
        self.put("\"");
        self.put(name);
        self.put("\": ");
        self.put(json);
    }

    fn text(&mut self, before: &str, name: &str, text: &str) {
        self.plain(before, name, "");
        quote(text, &mut self.text);
    }

    fn optional(&mut self, before: &str, name: &str, text: Option<&String>) {
        match text {
            Some(text) => self.text(before, name, text),
            None => self.plain(before, name, "null"),
        }
    }

    fn member(&mut self, before: &str, name: &str, value: &JsonValue) {
        self.plain(before, name, &value.to_json());
    }

    /// A member that is an array of objects; `write` leaves out their closing bracket.
    fn array<T>(&mut self, name: &str, elements: &[T], write: impl Fn(&mut Self, &T)) {
        self.plain(", ", name, "[");
        for (place, element) in elements.iter().enumerate() {
            self.put(if place > 0 { ", " } else { "" });
            write(self, element);
            self.put("}");
        }
        self.put("]");
    }

    /// What the template reads of a message.
    fn message(&mut self, message: &Message) {
        self.text("{", "role", message.role.name());
        self.text(", ", "content", &message.content);
        self.optional(", ", "reasoning_content", message.reasoning.as_ref());
        self.plain(", ", "tool_calls", "[");
        for (place, call) in message.calls.iter().enumerate() {
            self.text(if place > 0 { ", {" } else { "{" }, "name", &call.name);
            self.text(", ", "arguments", &call.arguments);
            self.optional(", ", "id", call.id.as_ref());
            self.put("}");
        }
        self.put("]");
        self.optional(", ", "tool_call_id", message.tool_call_id.as_ref());
    }
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
