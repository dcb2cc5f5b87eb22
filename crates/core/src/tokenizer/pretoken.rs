//! Text to pieces: the DFA, run as contract/artifact.md says.

use crate::artifact::{DEAD, Pretokenizer, START};

/// Where the match at the beginning of `text` ends.
pub(crate) fn match_end(dfa: Pretokenizer<'_>, text: &[u8]) -> usize {
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
