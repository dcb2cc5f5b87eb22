//! What an assembly keeps of a cache, and which part of the request broke its prefix (contract/prompt.md, P-80, P-81).

use alloc::string::String;
use alloc::vec::Vec;

use super::Assembly;
use crate::ids::TokenId;
use crate::json::JsonValue;

/// What to do with a cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptDelta {
    /// How many ids of the cache stay: cut it there.
    pub keep: usize,
    /// The ids that follow.
    pub append: Vec<TokenId>,
    /// How many ids of the cache are lost.
    pub lost: usize,
    /// Where the prompt is another than the cache; `None` where nothing is lost, or where the prompt ends before the cache does.
    pub broken: Option<Break>,
}

/// The place in the request of the first id that is another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    /// A part of the request, or `generation_prompt`.
    pub part: &'static str,
    /// The item in it: `local_state[clock]`.
    pub source: String,
}

impl Assembly {
    /// Compare with what a cache holds: the ids of an earlier prompt and, where there was one, of the reply after it.
    #[must_use]
    pub fn delta(&self, cached: &[u32]) -> PromptDelta {
        let keep = self.ids.iter().zip(cached).take_while(|(id, cached)| id.get() == **cached).count();
        let lost = cached.len() - keep;
        let place = self.rows.get(keep).filter(|_| lost > 0).and_then(|row| self.place(*row));
        let broken = place.map(|(part, item)| Break { part, source: item.clone() });
        PromptDelta { keep, append: self.ids.get(keep..).unwrap_or_default().to_vec(), lost, broken }
    }
}

impl PromptDelta {
    /// `keep`, `append`, `lost`, and `broken`: `part` and `source`, or null.
    #[must_use]
    pub fn to_json(&self) -> String {
        let broken = |broken: &Break| {
            JsonValue::object([("part", broken.part.into()), ("source", broken.source.as_str().into())])
        };
        let members = [
            ("keep", self.keep.into()),
            ("append", JsonValue::array(self.append.iter().map(|id| id.get()))),
            ("lost", self.lost.into()),
            ("broken", self.broken.as_ref().map_or(JsonValue::Null, broken)),
        ];
        JsonValue::object(members).to_json()
    }
}
