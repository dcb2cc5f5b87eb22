//! Results of Template2 as JSON: the same bytes on every host (contract/conformance.md).

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Composition, ReplyEvent, Template, Token};
use crate::error::{Error, SpecialText};
use crate::json::JsonValue;
use crate::tokenizer::{Profile, Scratch};

impl Template<'_> {
    /// A rendering as JSON: `input_ids`, `text`, `findings`, `policy_findings`, `dropped_reasoning`, `state`, `path`
    /// (the states that were entered, one for each event) (`pretoken_too_long`).
    pub fn rendering_to_json(
        &self,
        composition: &Composition,
        profile: Profile,
        scratch: &mut Scratch,
    ) -> Result<String, Error> {
        let mut ids = Vec::new();
        self.ids_into(composition, profile, scratch, &mut ids)?;
        let findings = self.special_texts(composition);
        let members = [
            ("input_ids", JsonValue::array(ids.iter().map(|id| id.get()))),
            ("text", self.text(composition).into()),
            ("findings", JsonValue::array(findings.iter().map(SpecialText::to_value))),
            // Template2 knows no policy.
            ("policy_findings", 0_u32.into()),
            ("dropped_reasoning", JsonValue::array(composition.dropped_reasoning().iter().copied())),
            ("state", self.state_name(composition).into()),
            ("path", JsonValue::array(composition.path.iter().map(|state| self.program.state_name(*state)))),
        ];
        Ok(JsonValue::object(members).to_json())
    }

    /// The ids of a rendering with their origin as JSON: an array of [`Token::to_value`] (`pretoken_too_long`).
    pub fn tokens_to_json(
        &self,
        composition: &Composition,
        profile: Profile,
        scratch: &mut Scratch,
    ) -> Result<String, Error> {
        let tokens = self.tokens(composition, profile, scratch)?;
        Ok(JsonValue::array(tokens.iter().map(Token::to_value)).to_json())
    }
}

impl Token {
    /// An array of id, role, part, trust class, message (or null) and ranges, each an array of source, start and end.
    #[must_use]
    pub fn to_value(&self) -> JsonValue {
        let range = |(source, start, end): &(super::Source, usize, usize)| {
            JsonValue::Array(Vec::from([source.to_string().into(), (*start).into(), (*end).into()]))
        };
        JsonValue::Array(Vec::from([
            self.id.get().into(),
            self.role.into(),
            self.part.into(),
            self.trust.into(),
            self.message.map_or(JsonValue::Null, JsonValue::from),
            JsonValue::array(self.ranges.iter().map(range)),
        ]))
    }
}

impl ReplyEvent {
    /// An object of `kind` and of those among `text`, `ids`, `name`, `arguments` and `reason` that are not empty.
    #[must_use]
    pub fn to_value(&self) -> JsonValue {
        let text = |text: &String| JsonValue::from(text.as_str());
        let members = [
            ("kind", self.kind.as_str().into()),
            ("text", text(&self.text)),
            ("ids", JsonValue::array(self.ids.iter().copied())),
            ("name", text(&self.name)),
            ("arguments", text(&self.arguments)),
            ("reason", text(&self.reason)),
        ];
        let says_something = |value: &JsonValue| match value {
            JsonValue::Text(text) => !text.is_empty(),
            JsonValue::Array(elements) => !elements.is_empty(),
            _ => true,
        };
        JsonValue::object(members.into_iter().filter(|(_, value)| says_something(value)))
    }

    /// Events as a JSON array.
    #[must_use]
    pub fn list_to_json(events: &[Self]) -> String {
        JsonValue::array(events.iter().map(Self::to_value)).to_json()
    }
}
