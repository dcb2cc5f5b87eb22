//! Escaping what would begin a wrapper of the assembler (contract/prompt.md, P-45, P-46).

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

const WRAPPERS: [&str; 3] = ["evidence", "local_state", "history_truncated"];
const ESCAPED: &str = "&lt;";
/// What an escape adds.
const GROWTH: usize = ESCAPED.len() - 1;

/// A text as it stands in the prompt, and where it was escaped.
pub(super) struct Escaped {
    pub(super) text: String,
    /// Byte offset of each escaped `<` in the text as given, rising.
    pub(super) escapes: Vec<usize>,
    pub(super) given: usize,
}

impl Escaped {
    pub(super) fn new(given: String) -> Self {
        let starts = given.match_indices('<').map(|(at, _)| at);
        let escapes: Vec<usize> = starts.filter(|&at| begins_wrapper(&given, at + 1)).collect();
        let length = given.len();
        if escapes.is_empty() {
            return Self { text: given, escapes, given: length };
        }
        let mut text = String::with_capacity(length + GROWTH * escapes.len());
        let mut copied = 0;
        for &at in &escapes {
            text.push_str(given.get(copied..at).unwrap_or_default());
            text.push_str(ESCAPED);
            copied = at + 1;
        }
        text.push_str(given.get(copied..).unwrap_or_default());
        Self { text, escapes, given: length }
    }

    /// The text as given.
    pub(super) fn given_text(&self) -> Cow<'_, str> {
        if self.escapes.is_empty() {
            return Cow::Borrowed(&self.text);
        }
        let mut text = String::with_capacity(self.given);
        let mut copied = 0;
        for (number, at) in self.escapes.iter().enumerate() {
            let begins = at + GROWTH * number;
            text.push_str(self.text.get(copied..begins).unwrap_or_default());
            text.push('<');
            copied = begins + ESCAPED.len();
        }
        text.push_str(self.text.get(copied..).unwrap_or_default());
        Cow::Owned(text)
    }

    /// The offset before escaping; one inside an escape is that of its `<`, plus one at the end of a range.
    pub(super) fn as_given(&self, offset: usize, is_end: bool) -> usize {
        let (passed, inside) = self.passed(offset);
        match inside {
            Some(at) => at + usize::from(is_end),
            None => offset - GROWTH * passed,
        }
    }

    /// Whether an offset lies between two characters of an escape.
    pub(super) fn is_inside(&self, offset: usize) -> bool {
        self.passed(offset).1.is_some()
    }

    /// How many escapes end at or before an offset, and the place in the text as given of the one that it lies in.
    fn passed(&self, offset: usize) -> (usize, Option<usize>) {
        // The escape at `at`, the number-th, stands at `at + GROWTH * number`.
        let passed = self.escapes_before(offset);
        let open = self.escapes.get(passed).filter(|&&at| offset > at + GROWTH * passed);
        (passed, open.copied())
    }

    fn escapes_before(&self, offset: usize) -> usize {
        let (mut low, mut high) = (0, self.escapes.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            let end = self.escapes.get(middle).map_or(usize::MAX, |at| at + GROWTH * middle + ESCAPED.len());
            if end <= offset {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// Whether the name of a wrapper, or `/` and it, begins here, ASCII letters compared without case.
fn begins_wrapper(text: &str, at: usize) -> bool {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    let name = rest.strip_prefix(b"/").unwrap_or(rest);
    WRAPPERS.iter().any(|wrapper| {
        name.get(..wrapper.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(wrapper.as_bytes()))
    })
}
