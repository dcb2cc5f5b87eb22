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

    /// One of `length` bytes, whose key was made if there is one.
    #[inline]
    pub(super) fn push(&mut self, key: Option<Key>, length: usize, cache: &PieceCache) {
        let key = key.unwrap_or_default();
        let hash = key.hash();
        cache.prefetch(hash);
        if let Some(place) = self.pieces.get_mut(self.count) {
            *place = Piece { key, hash, length };
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
            self.push(Key::new(text.get(start..).unwrap_or_default(), next - start), next - start, cache);
            start = next;
        }
        start
    }
}
