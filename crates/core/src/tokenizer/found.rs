//! Pieces that were found and wait for their ids: first they are found and after that looked up, so that the look-ups of several are
//! under way at once.

use super::blocks::Block;
use super::key::Key;
use super::piece_cache::PieceCache;

/// So many are looked for before their ids are.
pub(super) const AHEAD: usize = 128;
/// The most that are found: those of a block are taken together.
pub(super) const MOST: usize = AHEAD + 64;

/// A piece, or a part of one.
#[derive(Clone, Copy, Default)]
pub(super) struct Piece {
    /// Of none where it is too long for one.
    pub(super) key: Key,
    /// Of the key.
    pub(super) hash: u64,
    /// Where it begins, after so many bytes of those before it. It ends where the next one begins.
    pub(super) start: usize,
}

/// Pieces, or parts of one, that follow each other.
pub(super) struct Found {
    pieces: [Piece; MOST],
    count: usize,
    /// How many bytes they have.
    length: usize,
}

impl Default for Found {
    fn default() -> Self {
        Self { pieces: [Piece::default(); MOST], count: 0, length: 0 }
    }
}

impl Found {
    pub(super) const fn clear(&mut self) {
        (self.count, self.length) = (0, 0);
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

    /// How many bytes they have.
    pub(super) const fn length(&self) -> usize {
        self.length
    }

    /// The first `length` bytes of `text`, a piece or a part of one.
    #[inline]
    pub(super) fn push(&mut self, text: &[u8], length: usize, part: bool, cache: &PieceCache) {
        let (key, hash) = key_of(text, length, part, cache);
        if let Some(place) = self.pieces.get_mut(self.count) {
            *place = Piece { key, hash, start: self.length };
            self.count += 1;
            self.length += length;
        }
    }

    /// The pieces of a block between its first byte and the last beginning; how many bytes they have.
    #[inline]
    pub(super) fn push_block(&mut self, block: &Block, mut beginnings: u64, cache: &PieceCache) -> usize {
        // In variables of their own they stay in registers.
        let (before, mut count, mut start) = (self.length, self.count, 0);
        while beginnings != 0 {
            let next = beginnings.trailing_zeros() as usize;
            beginnings &= beginnings - 1;
            let (key, hash) = key_of(block.get(start..).unwrap_or_default(), next - start, false, cache);
            if let Some(place) = self.pieces.get_mut(count) {
                *place = Piece { key, hash, start: before + start };
                count += 1;
            }
            start = next;
        }
        (self.count, self.length) = (count, before + start);
        start
    }
}

/// The key of the first `length` bytes of `text`, and its hash; that it will be looked for is said.
#[inline]
fn key_of(text: &[u8], length: usize, part: bool, cache: &PieceCache) -> (Key, u64) {
    let Some(key) = Key::new(text, length) else {
        cache.prefetch_long(text.get(..length).unwrap_or_default(), part);
        return (Key::NONE, 0);
    };
    let key = if part { key.as_part() } else { key };
    let hash = key.hash();
    cache.prefetch(hash);
    (key, hash)
}
