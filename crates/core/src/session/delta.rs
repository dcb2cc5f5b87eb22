//! What of a cache stays, what follows, and what was lost (contract/template.md, M-100 and M-104).

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Write;

use super::chunks::{Chunk, end_of};
use crate::ids::TokenId;
use crate::json::quote;

/// What to do with a cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    /// How many ids of the cache stay: cut it there.
    pub keep: usize,
    /// The ids that follow.
    pub append: Vec<TokenId>,
    /// For each turn of which something was cut off, how much and why.
    pub lost: Vec<Loss>,
    /// Of the template's machine after the last id, by name: a reply goes on from there.
    pub state: String,
}

/// What a turn lost of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Its index; the number of messages for a generation prompt without a reply.
    pub message: usize,
    /// How many of its cached ids are not in the prompt any more, at their place.
    pub ids: usize,
    /// Why.
    pub reason: LossReason,
}

/// Why a turn lost ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossReason {
    /// The template leaves its reasoning or its think block out now.
    Reasoning,
    /// Its ids were not those that its message is rendered with.
    Rewritten,
    /// The head of a reply that was not kept.
    GenerationPrompt,
    /// It stands after something that changed.
    Later,
}

impl LossReason {
    /// The word for it that every host uses.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reasoning => "reasoning",
            Self::Rewritten => "rewritten",
            Self::GenerationPrompt => "generation_prompt",
            Self::Later => "later",
        }
    }
}

impl Delta {
    /// The common prefix of what was cached and of what is to be there: chunks that are kept, and others after them.
    pub(super) fn between(old: &[Arc<Chunk>], kept: &[Arc<Chunk>], fresh: &[Arc<Chunk>], state: &str) -> Self {
        let new = || kept.iter().chain(fresh);
        // Chunks that were not computed anew are the same objects, up to the first one that was.
        let is_same = |(left, right): &(&Arc<Chunk>, &Arc<Chunk>)| Arc::ptr_eq(left, right) || left.ids == right.ids;
        let same = old.iter().zip(new()).take_while(is_same).count();
        let (before, old) = old.split_at(same);
        let after = || new().skip(same).flat_map(|chunk| chunk.ids.iter().copied());
        let common = ids(old).zip(after()).take_while(|(left, right)| left == right).count();
        Self {
            keep: end_of(before) + common,
            append: after().skip(common).collect(),
            lost: losses(old, new, common),
            state: state.into(),
        }
    }

    /// The fields by name, as JSON (M-37).
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = write!(out, "{{\"keep\": {}, \"append\": ", self.keep);
        write_ids(&self.append, &mut out);
        out.push_str(", \"lost\": [");
        for (at, loss) in self.lost.iter().enumerate() {
            out.push_str(if at > 0 { ", " } else { "" });
            let Loss { message, ids, reason } = loss;
            let reason = reason.as_str();
            let _ = write!(out, "{{\"message\": {message}, \"ids\": {ids}, \"reason\": \"{reason}\"}}");
        }
        out.push_str("], \"state\": ");
        quote(&self.state, &mut out);
        out.push('}');
        out
    }
}

pub(super) fn ids(chunks: &[Arc<Chunk>]) -> impl Iterator<Item = TokenId> + '_ {
    chunks.iter().flat_map(|chunk| chunk.ids.iter().copied())
}

/// A list of ids, as JSON (M-37).
pub(super) fn write_ids(ids: &[TokenId], out: &mut String) {
    out.push('[');
    for (at, id) in ids.iter().enumerate() {
        let _ = write!(out, "{}{}", if at > 0 { ", " } else { "" }, id.get());
    }
    out.push(']');
}

/// Of which turns something was cut off, and why: what the first one lost is the reason of its own.
fn losses<'c, I>(old: &[Arc<Chunk>], new: impl Fn() -> I, common: usize) -> Vec<Loss>
where
    I: DoubleEndedIterator<Item = &'c Arc<Chunk>>,
{
    let mut losses = Vec::new();
    let mut at = 0;
    for chunk in old {
        let end = at + chunk.ids.len();
        if end > common {
            let reason = if losses.is_empty() { reason(chunk, new()) } else { LossReason::Later };
            losses.push(Loss { message: chunk.message, ids: end - common.max(at), reason });
        }
        at = end;
    }
    losses
}

/// Why a turn's ids are others now.
fn reason<'c>(before: &Chunk, new: impl DoubleEndedIterator<Item = &'c Arc<Chunk>>) -> LossReason {
    if before.waits {
        return LossReason::GenerationPrompt;
    }
    let now = new.rev().find(|chunk| chunk.message <= before.message);
    let reasons = now.is_some_and(|chunk| chunk.reasons);
    if before.reasons && !reasons { LossReason::Reasoning } else { LossReason::Rewritten }
}
