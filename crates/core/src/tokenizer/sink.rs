//! Where ids go: a growing list, memory of the caller, or nowhere, where they are only counted.

use alloc::vec::Vec;

use super::piece_cache::SHORT_IDS;
use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::ids::TokenId;

/// Ids that are gathered before a sink gets them, 4 kB.
const ROOM: usize = 2048;

/// What takes ids.
pub(crate) trait Sink {
    /// Take the next ids; whether more are wanted.
    fn take(&mut self, ids: &[TokenId]) -> bool;
}

/// Gathers ids, so that a sink is called now and then.
pub(crate) struct Room {
    ids: [TokenId; ROOM],
    used: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self { ids: [TokenId::default(); ROOM], used: 0 }
    }
}

impl Room {
    /// Whether so many more ids fit, which are fewer than there is room for.
    #[inline]
    pub(crate) const fn has_place(&self, ids: usize) -> bool {
        self.used <= ROOM - ids
    }

    /// How many were gathered.
    pub(crate) const fn used(&self) -> usize {
        self.used
    }

    /// Those that were gathered after the first so many.
    pub(crate) fn since(&self, used: usize) -> &[TokenId] {
        self.ids.get(used..self.used).unwrap_or_default()
    }

    /// Append the first ids of each item in turn, until one has none or there is no room; how many items had some. All four are written,
    /// which is one instruction, and the next go over the rest.
    #[inline]
    pub(crate) fn write_while<T>(
        &mut self,
        items: &[T],
        mut ids_of: impl FnMut(&T) -> Option<([TokenId; SHORT_IDS], usize)>,
    ) -> usize {
        // In a variable of its own it stays in a register.
        let mut used = self.used;
        let mut written = 0;
        for item in items {
            let Some((ids, count)) = ids_of(item) else { break };
            let Some(place) = self.ids.get_mut(used..used + SHORT_IDS) else { break };
            place.copy_from_slice(&ids);
            used += count;
            written += 1;
        }
        self.used = used;
        written
    }

    /// Append the first ids of an item, where there is room.
    pub(crate) fn write(&mut self, item: ([TokenId; SHORT_IDS], usize)) {
        self.write_while(&[item], |&item| Some(item));
    }

    /// Append any number of ids; whether the sink wants more.
    pub(crate) fn extend(&mut self, ids: &[TokenId], sink: &mut dyn Sink) -> bool {
        if let Some(place) = self.ids.get_mut(self.used..self.used + ids.len()) {
            place.copy_from_slice(ids);
            self.used += ids.len();
            return true;
        }
        self.flush(sink) && sink.take(ids)
    }

    /// Give the sink what was gathered; whether it wants more.
    pub(crate) fn flush(&mut self, sink: &mut dyn Sink) -> bool {
        let gathered = self.ids.get(..self.used).unwrap_or_default();
        self.used = 0;
        gathered.is_empty() || sink.take(gathered)
    }

    /// Forget what was gathered.
    pub(crate) const fn clear(&mut self) {
        self.used = 0;
    }
}

/// Appends to a list.
pub(crate) struct Collect<'o>(pub(crate) &'o mut Vec<TokenId>);

impl Sink for Collect<'_> {
    fn take(&mut self, ids: &[TokenId]) -> bool {
        self.0.extend_from_slice(ids);
        true
    }
}

/// Fills memory of the caller, and counts on where it is too small.
pub(crate) struct Fill<'o> {
    out: &'o mut [TokenId],
    count: usize,
}

impl<'o> Fill<'o> {
    pub(crate) const fn new(out: &'o mut [TokenId]) -> Self {
        Self { out, count: 0 }
    }

    /// How many ids were written (`output_too_small` where not all were).
    pub(crate) fn finish(self) -> Result<usize, Error> {
        if self.count <= self.out.len() {
            return Ok(self.count);
        }
        let fields = [("needed", self.count.into()), ("found", self.out.len().into())];
        Err(Error::new(ErrorCode::OutputTooSmall, fields))
    }
}

impl Sink for Fill<'_> {
    fn take(&mut self, ids: &[TokenId]) -> bool {
        if let Some(place) = self.out.get_mut(self.count..self.count + ids.len()) {
            place.copy_from_slice(ids);
        }
        self.count += ids.len();
        true
    }
}

/// Counts, up to a limit.
pub(crate) struct Count {
    pub(crate) count: usize,
    limit: usize,
}

impl Count {
    pub(crate) const fn up_to(limit: usize) -> Self {
        Self { count: 0, limit }
    }

    /// The count, where it is within the limit.
    pub(crate) fn within(&self) -> Option<usize> {
        (self.count <= self.limit).then_some(self.count)
    }
}

impl Sink for Count {
    fn take(&mut self, ids: &[TokenId]) -> bool {
        self.count += ids.len();
        self.count <= self.limit
    }
}
