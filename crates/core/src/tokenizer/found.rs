//! Pieces that were found and wait for their ids: first they are found and after that looked up, so that the look-ups of several are
//! under way at once.

use super::key::Key;
use super::piece_cache::PieceCache;

/// So many are looked for before their ids are.
pub(super) const AHEAD: usize = 32;
/// The most that are found: those of a block are taken together.
pub(super) const MOST: usize = AHEAD + 64;

/// A piece, or a part of one.
#[derive(Clone, Copy, Default)]
pub(super) struct Piece {
    /// Of nothing where it is too long for one.
    pub(super) key: Key,
    /// Of the key.
    pub(super) hash: u64,
    pub(super) length: usize,
}

/// Pieces, or parts of one, that follow each other.
pub(super) struct Found {
    pieces: [Piece; MOST],
    count: usize,
}

impl Default for Found {
    fn default() -> Self {
        Self { pieces: [Piece::default(); MOST], count: 0 }
    }
}

impl Found {
    pub(super) const fn clear(&mut self) {
        self.count = 0;
    }

    /// Whether enough were found.
    #[inline]
    pub(super) const fn is_full(&self) -> bool {
        self.count >= AHEAD
    }

    #[inline]
    pub(super) fn pieces(&self) -> &[Piece] {
        self.pieces.get(..self.count).unwrap_or_default()
    }

    /// The first `length` bytes of `text`, a piece or a part of one.
    #[inline]
    pub(super) fn push(&mut self, text: &[u8], length: usize, part: bool, cache: &PieceCache) {
        let Some(key) = Key::new(text, length) else { return self.push_long(text, length, part, cache) };
        let key = if part { key.as_part() } else { key };
        let hash = key.hash();
        cache.prefetch(hash);
        if let Some(place) = self.pieces.get_mut(self.count) {
            *place = Piece { key, hash, length };
            self.count += 1;
        }
    }

    #[inline(never)]
    fn push_long(&mut self, text: &[u8], length: usize, part: bool, cache: &PieceCache) {
        cache.prefetch_long(text.get(..length).unwrap_or_default(), part);
        if let Some(place) = self.pieces.get_mut(self.count) {
            *place = Piece { key: Key::default(), hash: 0, length };
            self.count += 1;
        }
    }

    /// The pieces of `text` between its first byte and the last beginning; how many bytes they have.
    #[inline]
    pub(super) fn push_beginnings(&mut self, text: &[u8], mut beginnings: u64, cache: &PieceCache) -> usize {
        let mut start = 0;
        while beginnings != 0 {
            let next = beginnings.trailing_zeros() as usize;
            beginnings &= beginnings - 1;
            self.push(text.get(start..).unwrap_or_default(), next - start, false, cache);
            start = next;
        }
        start
    }
}
