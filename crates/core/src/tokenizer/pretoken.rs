//! Text to pieces: the DFA, run as contract/artifact.md says.

use crate::artifact::{DEAD, Pretokenizer, START};

/// The pieces of `text`, in order; together they are `text`.
pub(crate) fn pieces<'t>(dfa: Pretokenizer<'_>, text: &'t [u8]) -> impl Iterator<Item = &'t [u8]> {
    let mut rest = text;
    core::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        // A checked DFA ends each match after at least one byte. With bytes that changed under us, the loop ends too.
        let (piece, after) = rest.split_at_checked(match_end(dfa, rest).max(1))?;
        rest = after;
        Some(piece)
    })
}

/// Where the match at the beginning of `text` ends.
fn match_end(dfa: Pretokenizer<'_>, text: &[u8]) -> usize {
    let mut state = START;
    let mut end = 0;
    for (at, &byte) in text.iter().enumerate() {
        state = dfa.after_byte(state, byte);
        if state == DEAD {
            return end;
        }
        if let Some(back) = dfa.match_back(state) {
            end = (at + 1).saturating_sub(back);
        }
    }
    match dfa.match_back(dfa.after_end(state)) {
        Some(back) => text.len().saturating_sub(back),
        None => end,
    }
}
