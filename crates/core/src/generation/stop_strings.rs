//! Texts that end a generation, found however the text is cut into pieces (contract/sampling.md, S-84).

use alloc::string::String;
use alloc::vec::Vec;

/// Holds text back while it may still become one of some strings.
#[derive(Clone, Debug)]
pub(super) struct StopStrings {
    /// The longest first.
    strings: Vec<String>,
    held: String,
    found: Option<usize>,
}

impl StopStrings {
    pub(super) fn new(mut strings: Vec<String>) -> Self {
        strings.retain(|string| !string.is_empty());
        strings.sort_by_key(|string| core::cmp::Reverse(string.len()));
        Self { strings, held: String::new(), found: None }
    }

    /// The string that was found.
    pub(super) fn found(&self) -> Option<&str> {
        self.found.and_then(|place| self.strings.get(place)).map(String::as_str)
    }

    /// The text that cannot be part of a string any more; what follows a string that was found is dropped.
    pub(super) fn push(&mut self, text: &str) -> String {
        if self.strings.is_empty() {
            return text.into();
        }
        let mut given = String::new();
        for char in text.chars() {
            self.held.push(char);
            // One scalar value after the other, so that grouping changes nothing; of several that end here the longest counts.
            self.found = self.strings.iter().position(|string| self.held.ends_with(string.as_str()));
            if let Some(string) = self.found() {
                given.push_str(self.held.strip_suffix(string).unwrap_or_default());
                self.held.clear();
                return given;
            }
            let free = self.held.len() - self.possible();
            given.extend(self.held.drain(..free));
        }
        given
    }

    /// How long the longest ending is that begins a string.
    fn possible(&self) -> usize {
        let endings = self.held.char_indices().filter_map(|(start, _)| self.held.get(start..));
        let begins = |ending: &&str| self.strings.iter().any(|string| string.starts_with(*ending));
        endings.into_iter().find(begins).map_or(0, str::len)
    }

    /// What was held back, where the generation ended otherwise.
    pub(super) fn release(&mut self) -> String {
        core::mem::take(&mut self.held)
    }
}
