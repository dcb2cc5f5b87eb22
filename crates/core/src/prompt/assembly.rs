//! What an assembly is: ids, the origin of each, and the account of how it came about. No text of the policy is in it.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::error::SpecialText;
use crate::ids::TokenId;

/// One id of a prompt and where it came from (contract/prompt.md, P-52).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptToken<'a> {
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
    /// What it touches: for each text the number of its source in [`Assembly::source_names`], and bytes `start..end` of it.
    pub ranges: &'a [Range],
}

/// A source by its number, and bytes `start..end` of it. The tokens of a window touch less than 4 GiB.
pub type Range = (u32, u32, u32);

/// What tokens of one piece of a prompt have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Speaker {
    pub(super) role: &'static str,
    pub(super) part: &'static str,
    pub(super) trust: &'static str,
    pub(super) message: Option<u32>,
    /// The item that they count for, a number in [`Assembly::sources`].
    pub(super) owner: u32,
    /// Where they stand, a number in `Assembly::places`.
    pub(super) place: u32,
}

/// A token: its speaker by number, and where its ranges end; they begin where those of the token before end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) speaker: u32,
    pub(super) ranges: u32,
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
    /// As many as ids.
    pub(super) rows: Vec<Row>,
    pub(super) speakers: Vec<Speaker>,
    pub(super) ranges: Vec<Range>,
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
    pub fn tokens(&self) -> impl Iterator<Item = PromptToken<'_>> {
        let mut first = 0;
        self.ids.iter().zip(&self.rows).filter_map(move |(&id, row)| {
            let ranges = self.ranges.get(first..row.ranges as usize).unwrap_or_default();
            first = row.ranges as usize;
            let &Speaker { role, part, trust, message, .. } = self.speakers.get(row.speaker as usize)?;
            Some(PromptToken { id, role, part, trust, message, ranges })
        })
    }

    /// The part of the request and the item at which a position of the prompt stands.
    pub(super) fn place(&self, row: Row) -> Option<&(&'static str, String)> {
        self.speakers.get(row.speaker as usize).and_then(|speaker| self.places.get(speaker.place as usize))
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
        let number = |row: &Row| self.speakers.get(row.speaker as usize).map(|speaker| speaker.place);
        self.rows.chunk_by(move |left, right| left.speaker == right.speaker || number(left) == number(right)).map(
            move |run| {
                let place = run.first().and_then(|row| self.place(*row));
                let (part, source) = place.map_or(("", ""), |(part, source)| (part, source.as_str()));
                let stretch = Stretch { begins, part, source };
                begins += run.len();
                stretch
            },
        )
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
