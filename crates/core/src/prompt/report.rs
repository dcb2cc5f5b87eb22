//! An assembly as JSON: the same bytes on every host (contract/prompt.md, P-78).

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

use super::assembly::{Assembly, PromptToken, Range, Step, Stretch};
use crate::error::SpecialText;
use crate::json::JsonValue;

/// Characters that a token takes in JSON, about.
const CHARACTERS_A_TOKEN: usize = 128;

impl Assembly {
    /// All there is: ids, report, tokens.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = String::with_capacity(CHARACTERS_A_TOKEN * self.ids.len());
        text.push_str("{\"input_ids\": [");
        for (place, id) in self.ids.iter().enumerate() {
            // Writing to a string does not fail.
            let _ = write!(text, "{}{}", if place > 0 { ", " } else { "" }, id.get());
        }
        text.push_str("], ");
        let report = self.report().to_json();
        text.push_str(report.get(1..report.len().saturating_sub(1)).unwrap_or_default());
        text.push_str(", \"tokens\": [");
        for (place, token) in self.tokens().enumerate() {
            text.push_str(if place > 0 { ", " } else { "" });
            self.write_token(token, &mut text);
        }
        text.push_str("]}");
        text
    }

    /// The same without `input_ids` and `tokens`, which hold the policy.
    #[must_use]
    pub fn report_json(&self) -> String {
        self.report().to_json()
    }

    /// The tokens as an array of arrays: id, role, part, trust class, message (or null) and ranges, each source, start and end.
    #[must_use]
    pub fn tokens_json(&self) -> String {
        let name = |source: u32| self.names.get(source as usize).map_or("", String::as_str).into();
        let range =
            |&(source, start, end): &Range| JsonValue::Array(Vec::from([name(source), start.into(), end.into()]));
        let row = |token: PromptToken<'_>| {
            JsonValue::Array(Vec::from([
                token.id.get().into(),
                token.role.into(),
                token.part.into(),
                token.trust.into(),
                token.message.map_or(JsonValue::Null, JsonValue::from),
                JsonValue::array(token.ranges.iter().map(range)),
            ]))
        };
        JsonValue::array(self.tokens().map(row)).to_json()
    }

    fn write_token(&self, token: PromptToken<'_>, out: &mut String) {
        let PromptToken { id, role, part, trust, ranges, .. } = token;
        let _ = write!(
            out,
            "{{\"id\": {}, \"role\": \"{role}\", \"part\": \"{part}\", \"trust\": \"{trust}\", \"ranges\": [",
            id.get()
        );
        for (place, (source, start, end)) in ranges.iter().enumerate() {
            // Names of sources have nothing that JSON escapes.
            let source = self.names.get(*source as usize).map_or("", String::as_str);
            let comma = if place > 0 { ", " } else { "" };
            let _ = write!(out, "{comma}{{\"source\": \"{source}\", \"start\": {start}, \"end\": {end}}}");
        }
        out.push_str("]}");
    }

    fn report(&self) -> JsonValue {
        let left = self.context - self.reserve - self.ids.len();
        let budget =
            [("context", self.context), ("reserve", self.reserve), ("prompt_tokens", self.ids.len()), ("left", left)];
        let policy_tokens: usize =
            self.sources.iter().filter(|count| count.source == "policy").map(|count| count.tokens).sum();
        let policy = [
            ("digest", self.policy.0.as_str().into()),
            ("length", self.policy.1.into()),
            ("tokens", policy_tokens.into()),
            ("findings", self.policy_findings.into()),
        ];
        let sources = self.sources.iter().map(|count| {
            let (source, trust) = (count.source.as_str().into(), count.trust.into());
            JsonValue::object([("source", source), ("trust", trust), ("tokens", count.tokens.into())])
        });
        let escapes = self.escapes.iter().map(|escape| {
            JsonValue::object([("source", escape.source.as_str().into()), ("offset", escape.offset.into())])
        });
        JsonValue::object([
            ("budget", JsonValue::object(budget.map(|(name, tokens)| (name, tokens.into())))),
            ("policy", JsonValue::object(policy)),
            ("sources", JsonValue::array(sources)),
            ("escapes", JsonValue::array(escapes)),
            ("findings", JsonValue::array(self.findings.iter().map(SpecialText::to_value))),
            ("dropped_reasoning", JsonValue::array(self.dropped_reasoning.iter().map(String::as_str))),
            ("state", self.state.as_str().into()),
            ("ledger", self.ledger()),
            ("map", JsonValue::array(self.map().map(Stretch::to_value))),
        ])
    }

    /// P-74 to P-77.
    fn ledger(&self) -> JsonValue {
        let [request, artifact, result] = &self.digests;
        let digest = |text: &String| JsonValue::from(text.as_str());
        let digests = [("request", digest(request)), ("artifact", digest(artifact)), ("result", digest(result))];
        let parts = self.parts.iter().map(|count| {
            JsonValue::object([
                ("part", count.part.into()),
                ("before", count.before.into()),
                ("after", count.after.into()),
                ("begins", count.begins.map_or(JsonValue::Null, JsonValue::from)),
            ])
        });
        JsonValue::object([
            ("digests", JsonValue::object(digests)),
            ("target", self.target.into()),
            ("turns", JsonValue::object([("given", self.turns.0.into()), ("kept", self.turns.1.into())])),
            ("parts", JsonValue::array(parts)),
            ("steps", JsonValue::array(self.steps.iter().map(Step::to_value))),
        ])
    }
}

impl Stretch<'_> {
    fn to_value(self) -> JsonValue {
        JsonValue::object([("begins", self.begins.into()), ("part", self.part.into()), ("source", self.source.into())])
    }
}

impl Step {
    /// An object of all fields.
    #[must_use]
    pub fn to_value(&self) -> JsonValue {
        JsonValue::object([
            ("pass", self.pass.into()),
            ("action", self.action.into()),
            ("source", self.source.as_str().into()),
            ("messages", self.messages.into()),
            ("kept_bytes", self.kept_bytes.into()),
            ("given_bytes", self.given_bytes.into()),
            ("before", self.before.into()),
            ("after", self.after.into()),
            ("why", self.why.as_str().into()),
        ])
    }
}
