//! Pieces that are not in the cache, several at a time: looking them up and merging them is waiting for memory, and what one piece waits
//! for does not depend on another.

use super::clause_cache::ClauseCache;
use super::found::{MOST, Piece};
use super::key::Key;
use super::merge::MergeTables;
use super::piece_cache::{PieceCache, SHORT_IDS};
use super::scan::Scan;
use super::{Scratch, Tokenizer};
use crate::ids::TokenId;

/// How many are merged beside each other.
const TOGETHER: usize = 8;
/// The bytes of a key fit.
const BYTES: usize = 16;

impl Tokenizer<'_> {
    /// Take the ids of pieces to the caches, where they are not there yet. It changes nothing else: what is not found there afterwards is
    /// encoded one by one.
    #[inline(never)]
    pub(super) fn learn(&self, pieces: &[Piece], scratch: &mut Scratch) {
        let Scratch { cache, clauses, characters, together, .. } = scratch;
        let mut absent = [0; MOST];
        let mut count = 0;
        for (number, piece) in (0_u8..).zip(pieces) {
            // No branch: which of them are absent, nothing predicts.
            if let Some(place) = absent.get_mut(count) {
                *place = number;
            }
            count += usize::from(cache.lacks(piece.key, piece.hash));
        }
        let absent = absent.get(..count).unwrap_or_default();
        let absent = absent.iter().filter_map(|&number| pieces.get(usize::from(number)));
        let absent = absent.filter(|piece| !piece.key.is_none());
        for piece in absent.clone() {
            cache.prefetch_beside(piece.hash);
            self.index.prefetch(piece.hash);
        }
        let tables = self.merge_tables();
        for &Piece { key, hash, .. } in absent {
            // The same piece may have come before it.
            if !cache.lacks(key, hash) || !cache.lacks_beside(key, hash) {
                continue;
            }
            if let Some(id) = self.whole_short(key, hash) {
                let none = TokenId::default();
                cache.keep_short(key, hash, ([id, none, none, none], 1));
                continue;
            }
            let (bytes, length) = key.bytes();
            let text = bytes.get(..length).unwrap_or_default();
            if length > SHORT_IDS && clauses.find(text, hash).is_some() {
                continue;
            }
            if key.is_ascii() {
                together.push(&tables, (key, hash), Scan::of_bytes(&tables, text), cache, clauses);
            } else if key.is_part() || self.seams.first_part(text) == length {
                together.push(&tables, (key, hash), characters.begin(&tables, self.seams, text), cache, clauses);
            }
        }
        together.finish(&tables, cache, clauses);
    }
}

/// Pieces that are merged beside each other.
#[derive(Default)]
pub(super) struct Together {
    /// Each with its key and the hash of that.
    scans: [((Key, u64), Scan<BYTES>); TOGETHER],
    used: usize,
}

impl Together {
    fn push(
        &mut self,
        tables: &MergeTables<'_>,
        key: (Key, u64),
        scan: Scan<BYTES>,
        cache: &mut PieceCache,
        clauses: &mut ClauseCache,
    ) {
        if let Some(place) = self.scans.get_mut(self.used) {
            *place = (key, scan);
            self.used += 1;
        }
        if self.used == TOGETHER {
            self.finish(tables, cache, clauses);
        }
    }

    /// A merge of each in turn, until none has one.
    fn finish(&mut self, tables: &MergeTables<'_>, cache: &mut PieceCache, clauses: &mut ClauseCache) {
        let scans = self.scans.get_mut(..self.used).unwrap_or_default();
        let mut going = (1_u32 << self.used) - 1;
        while going != 0 {
            for (bit, (_, scan)) in scans.iter_mut().enumerate() {
                if going >> bit & 1 == 1 && !scan.step(tables) {
                    going &= !(1 << bit);
                }
            }
        }
        for ((key, hash), scan) in scans {
            let mut ids = [TokenId::default(); BYTES];
            let mut count = 0;
            scan.tokens(|id, _| {
                if let Some(place) = ids.get_mut(count) {
                    *place = id;
                }
                count += 1;
            });
            let few = ids.first_chunk().copied().unwrap_or_default();
            if !cache.keep_short(*key, *hash, (few, count)) && !key.is_part() {
                let (bytes, length) = key.bytes();
                clauses.keep(bytes.get(..length).unwrap_or_default(), *hash, ids.get(..count).unwrap_or_default());
            }
        }
        self.used = 0;
    }
}
