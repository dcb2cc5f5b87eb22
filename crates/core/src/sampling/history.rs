//! Which ids a sampler has seen: those of the prompt, and those that it drew.

use alloc::vec::Vec;

/// The distinct ids, rising, and how often each is in the output.
#[derive(Clone, Default)]
pub(super) struct History {
    seen: Vec<Seen>,
}

/// One id.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub(super) id: u32,
    /// How often it was drawn; 0 where it is in the prompt alone.
    pub(super) drawn: u32,
}

impl History {
    /// Room for so many ids more, so that none is needed later.
    pub(super) fn reserve(&mut self, count: usize) {
        self.seen.reserve(count);
    }

    /// An id of the prompt, or one that was drawn.
    pub(super) fn add(&mut self, id: u32, drawn: bool) {
        let count = u32::from(drawn);
        match self.seen.binary_search_by_key(&id, |seen| seen.id) {
            Ok(at) => {
                if let Some(seen) = self.seen.get_mut(at) {
                    seen.drawn = seen.drawn.saturating_add(count);
                }
            }
            Err(at) => self.seen.insert(at, Seen { id, drawn: count }),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    pub(super) fn seen(&self) -> impl Iterator<Item = Seen> + '_ {
        self.seen.iter().copied()
    }
}
