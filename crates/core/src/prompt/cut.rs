//! Where a text that is too long is cut (contract/prompt.md, P-66, P-67).

use alloc::vec::Vec;

use super::Workbench;
use crate::error::Error;
use crate::tokenizer::{ChunkEncoder, Span, Unit};

/// What stands after a text that was cut.
pub(super) const CUT: &str = "\n[cut]";
/// How much of a text is looked at first, in bytes for each token that may stay.
const BYTES_A_TOKEN: usize = 16;

/// The byte before which a text is cut that has more than `limit` tokens; `is_inside` says whether a byte lies inside an escape.
pub(super) fn place(
    text: &str,
    limit: usize,
    is_inside: impl Fn(usize) -> bool,
    bench: &mut Workbench<'_>,
) -> Result<usize, Error> {
    let mark = bench.template.tokenizer.count(CUT.as_bytes(), bench.profile, bench.scratch)?;
    let spans = first_spans(text, limit.saturating_sub(mark), bench)?;
    let at = boundary(text, &spans, limit.saturating_sub(mark), is_inside);
    Ok(moved_back(text, at))
}

/// The spans of the beginning of a text, of which the first `count` and one more are those of the whole text.
fn first_spans(text: &str, count: usize, bench: &mut Workbench<'_>) -> Result<Vec<Span>, Error> {
    let tokenizer = &bench.template.tokenizer;
    let mut length = BYTES_A_TOKEN * (count + 1);
    while length < text.len() {
        let beginning = text.as_bytes().get(..length).unwrap_or_default();
        bench.ids.clear();
        ChunkEncoder::new(bench.profile).push(tokenizer, beginning, bench.scratch, &mut bench.ids)?;
        if bench.ids.len() > count {
            return tokenizer.encode_spans(beginning, bench.profile, Unit::Bytes, bench.scratch);
        }
        length *= 2;
    }
    tokenizer.encode_spans(text.as_bytes(), bench.profile, Unit::Bytes, bench.scratch)
}

/// The last token boundary after at most `limit` tokens that is a scalar boundary and not inside an escape.
fn boundary(text: &str, spans: &[Span], limit: usize, is_inside: impl Fn(usize) -> bool) -> usize {
    // Where marks change places in normalisation, ranges do not rise: a boundary has all bytes of the tokens before it on its left.
    let mut starts: Vec<usize> = spans.iter().map(|span| span.start).collect();
    let mut least = text.len();
    for start in starts.iter_mut().rev() {
        least = least.min(*start);
        *start = least;
    }
    let (mut at, mut end) = (0, 0);
    for (number, span) in spans.iter().take(limit).enumerate() {
        end = end.max(span.end);
        let next = starts.get(number + 1).copied().unwrap_or(text.len());
        if end <= next && text.is_char_boundary(end) && !is_inside(end) {
            at = end;
        }
    }
    at
}

/// Back to the end of a line, or else of a sentence, in the last tenth before `at`.
fn moved_back(text: &str, at: usize) -> usize {
    let least = at - at / 10;
    let head = text.get(..at).unwrap_or_default();
    if let Some(line) = head.rfind('\n').map(|newline| newline + 1).filter(|end| *end >= least) {
        return line;
    }
    let ends = head.char_indices().rev().map(|(start, char)| (start + char.len_utf8(), char));
    let mut in_reach = ends.take_while(|(end, _)| *end >= least);
    let sentence = in_reach.find(|(end, char)| match char {
        '。' | '！' | '？' => true,
        '.' | '!' | '?' => text.get(*end..).and_then(|rest| rest.chars().next()).is_some_and(is_white_space),
        _ => false,
    });
    sentence.map_or(at, |(end, _)| end)
}

/// Decisions D2: the 25 scalar values, whatever the host's tables say.
const fn is_white_space(char: char) -> bool {
    matches!(
        char,
        '\u{9}'..='\u{d}' | ' ' | '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
    )
}

#[cfg(test)]
mod tests {
    use super::{is_white_space, moved_back};

    #[test]
    fn white_space_has_25_scalar_values() {
        assert_eq!((0..=0x0010_FFFF).filter_map(char::from_u32).filter(|char| is_white_space(*char)).count(), 25);
    }

    #[test]
    fn a_cut_moves_back_to_a_line_or_a_sentence_in_its_last_tenth() {
        let long = "x".repeat(40);
        for (tail, at, moved) in [
            ("", 0, 0),
            ("\nab", 41 + 2, 41),
            (". ab", 44, 41),
            (".ab", 43, 43),
            ("。ab", 45, 43),
            ("\na. b", 45, 41),
            (". a\u{3000}! b", 49, 48 - 1),
            (".", 41, 41),
        ] {
            let text = std::format!("{long}{tail}");
            let text = if at == 0 { std::string::String::new() } else { text };
            assert_eq!(moved_back(&text, at), moved, "{tail:?}");
        }
    }
}
