//! What an assembly is: ids, the origin of each, and the account of how it came about. No text of the policy is in it.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::error::SpecialText;
use crate::ids::TokenId;

/// One id of a prompt and where it came from (contract/prompt.md, P-52).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptToken {
    /// The id.
    pub id: TokenId,
    /// Of the message that brought it.
    pub role: &'static str,
    /// Which part of the message.
    pub part: &'static str,
    /// The lowest class among the texts that the token touches.
    pub trust: &'static str,
    /// Index of the message in the prompt; `None` where no message brought it.
    pub message: Option<u32>,
    /// Where what it touches stands in [`Assembly::ranges`].
    pub(super) ranges: (u32, u32),
    /// The item that it counts for, a number in [`Assembly::sources`].
    pub(super) owner: u32,
    /// Where it stands, a number in `Assembly::places`.
    pub(super) place: u32,
}

/// Tokens of one item of the request; `source` is `program` for the literals of template and assembler (P-53).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceCount {
    /// The item: `retrieved[kb-7]`.
    pub source: String,
    /// Its trust class.
    pub trust: &'static str,
    /// How many tokens.
    pub tokens: usize,
}

/// One thing that was given up (P-75).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// `1` to `4`, or `sweep`.
    pub pass: &'static str,
    /// `drop_turn`, `drop_chunk`, `truncate_history`, `cut_chunk`, `cut_tool_response` or `drop_fact`.
    pub action: &'static str,
    /// The item of the request, of turns the first message.
    pub source: String,
    /// How many messages went.
    pub messages: usize,
    /// Of a text that was cut: its bytes, as given, that stayed.
    pub kept_bytes: usize,
    /// Bytes of the texts that the step concerns, as given.
    pub given_bytes: usize,
    /// Tokens of the prompt before the step.
    pub before: usize,
    /// Tokens of the prompt after it.
    pub after: usize,
    /// Why it was taken: how much over what, and the floor or limit.
    pub why: String,
}

/// Tokens of one part of the request, before and after the passes (P-74).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartCount {
    /// Of the request, or `program`.
    pub part: &'static str,
    /// In the whole request.
    pub before: usize,
    /// In the prompt.
    pub after: usize,
    /// The position of its first token in the prompt: a change there costs the cache of all after it.
    pub begins: Option<usize>,
}

/// A run of tokens of one place (P-79).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch<'a> {
    /// The position of the first one.
    pub begins: usize,
    /// The part of the request, or `generation_prompt`.
    pub part: &'static str,
    /// The item; of a literal the one that it stands for or around.
    pub source: &'a str,
}

/// A `<` that became `&lt;` (P-45).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Escape {
    /// The field.
    pub source: String,
    /// Byte offset in it, as given.
    pub offset: usize,
}

/// A prompt within its budget.
pub struct Assembly {
    pub(super) ids: Vec<TokenId>,
    pub(super) tokens: Vec<PromptToken>,
    pub(super) ranges: Vec<(u32, usize, usize)>,
    pub(super) names: Vec<String>,
    pub(super) places: Vec<(&'static str, String)>,
    pub(super) sources: Vec<SourceCount>,
    pub(super) context: usize,
    pub(super) reserve: usize,
    pub(super) policy: (String, usize),
    pub(super) policy_findings: usize,
    pub(super) escapes: Vec<Escape>,
    pub(super) findings: Vec<SpecialText>,
    pub(super) dropped_reasoning: Vec<String>,
    pub(super) digests: [String; 3],
    pub(super) parts: Vec<PartCount>,
    pub(super) target: usize,
    pub(super) turns: (usize, usize),
    pub(super) steps: Vec<Step>,
    pub(super) state: String,
}

impl Assembly {
    /// What the model reads; the policy is in it.
    #[must_use]
    pub fn input_ids(&self) -> &[TokenId] {
        &self.ids
    }

    /// Each id with its origin.
    #[must_use]
    pub fn tokens(&self) -> &[PromptToken] {
        &self.tokens
    }

    /// What a token touches: for each text the number of its source in [`Assembly::source_names`], and bytes `start..end` of it.
    #[must_use]
    pub fn ranges(&self, token: &PromptToken) -> &[(u32, usize, usize)] {
        let (start, end) = token.ranges;
        self.ranges.get(start as usize..end as usize).unwrap_or_default()
    }

    /// The sources that ranges name.
    #[must_use]
    pub fn source_names(&self) -> &[String] {
        &self.names
    }

    /// Tokens of each item, in the order in which the prompt has them.
    #[must_use]
    pub fn sources(&self) -> &[SourceCount] {
        &self.sources
    }

    /// What was given up, in order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Tokens of each part before and after the passes.
    #[must_use]
    pub fn parts(&self) -> &[PartCount] {
        &self.parts
    }

    /// The places of all tokens, in runs.
    pub fn map(&self) -> impl Iterator<Item = Stretch<'_>> {
        let mut begins = 0;
        self.tokens.chunk_by(|left, right| left.place == right.place).map(move |run| {
            let place = run.first().and_then(|token| self.places.get(token.place as usize));
            let (part, source) = place.map_or(("", ""), |(part, source)| (part, source.as_str()));
            let stretch = Stretch { begins, part, source };
            begins += run.len();
            stretch
        })
    }

    /// The state of the template's machine after the last id, by name: a reply goes on from there.
    #[must_use]
    pub fn state(&self) -> &str {
        &self.state
    }
}

impl fmt::Debug for Assembly {
    /// No ids: the policy can be read out of them.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digest = self.policy.0.get(..12).unwrap_or_default();
        write!(formatter, "Assembly({} of {} tokens, policy {digest})", self.ids.len(), self.context)
    }
}
