//! How far the passes may go (contract/prompt.md, P-60, P-61).

use super::fields::Fields;
use super::request::{MAX_CONTEXT, MAX_COUNT, MIN_LIMIT, whole};
use crate::error::Error;
use crate::json::JsonValue;
use crate::template::shown;

/// Counts of items; limits and headroom in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Degradation {
    pub(super) keep_turns: usize,
    pub(super) keep_chunks: usize,
    pub(super) active_turns: usize,
    pub(super) chunk_limit: usize,
    pub(super) tool_limit: usize,
    pub(super) sweep: bool,
    pub(super) headroom: usize,
}

const KEYS: &[&str] = &["keep_turns", "keep_chunks", "active_turns", "chunk_limit", "tool_limit", "sweep", "headroom"];

const fn preset(counts: [usize; 3], limits: [usize; 2], headroom: usize) -> Degradation {
    let [keep_turns, keep_chunks, active_turns] = counts;
    let [chunk_limit, tool_limit] = limits;
    Degradation { keep_turns, keep_chunks, active_turns, chunk_limit, tool_limit, sweep: true, headroom }
}

/// P-61.
const PRESETS: [(&str, Degradation); 3] = [
    ("agent", preset([4, 4, 1], [512, 1024], 4096)),
    ("conversation", preset([8, 4, 4], [512, 512], 2048)),
    ("retrieval", preset([2, 16, 1], [512, 512], 1024)),
];

impl Degradation {
    /// An object, the name of a preset, or nothing.
    pub(super) fn parse(value: JsonValue) -> Result<Option<Self>, Error> {
        if value == JsonValue::Null {
            return Ok(None);
        }
        if let JsonValue::Text(name) = &value {
            if let Some((_, preset)) = PRESETS.iter().find(|(known, _)| known == name) {
                return Ok(Some(*preset));
            }
            let expected = "an object, or agent, conversation or retrieval";
            return Err(Error::invalid_value("degradation", expected, &shown(&value)));
        }
        let mut fields = Fields::new(value, "degradation", KEYS)?;
        let keep_turns = fields.integer("keep_turns", 0, MAX_CONTEXT)?;
        Ok(Some(Self {
            keep_turns: whole(keep_turns),
            keep_chunks: whole(fields.integer("keep_chunks", 0, MAX_COUNT)?),
            active_turns: whole(fields.integer("active_turns", 0, keep_turns)?),
            chunk_limit: whole(fields.integer("chunk_limit", MIN_LIMIT, MAX_CONTEXT)?),
            tool_limit: whole(fields.integer("tool_limit", MIN_LIMIT, MAX_CONTEXT)?),
            sweep: fields.one_of("sweep", &["allow", "refuse"])? == "allow",
            headroom: whole(fields.integer("headroom", 0, MAX_CONTEXT)?),
        }))
    }
}
