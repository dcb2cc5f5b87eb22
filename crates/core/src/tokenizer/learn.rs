//! Pieces that are not in the cache, several at a time: looking them up and merging them is waiting for memory, and what one piece waits
//! for does not depend on another.

use super::Tokenizer;
use super::characters::Characters;
use super::found::MOST;
use super::key::Key;
use super::merge::MergeTables;
use super::piece_cache::{PieceCache, SHORT_IDS};
use super::scan::Scan;
use crate::ids::TokenId;

/// How many are merged beside each other.
const TOGETHER: usize = 8;
/// The bytes of a key fit.
const BYTES: usize = 16;

impl Tokenizer<'_> {
    /// Take the ids of pieces to the cache, where they are not there yet. It changes nothing else: what is not found there afterwards is
    /// encoded one by one.
    #[inline(never)]
    pub(super) fn learn(
        &self,
        keys: &mut dyn Iterator<Item = Key>,
        cache: &mut PieceCache,
        characters: &mut Characters,
    ) {
        let mut absent = [Key::default(); MOST];
        let mut count = 0;
        for (place, key) in absent.iter_mut().zip(keys.filter(|&key| !key.is_none() && !cache.has(key))) {
            cache.prefetch_beside(key);
            self.index.prefetch(key);
            *place = key;
            count += 1;
        }
        let mut merged = Together::default();
        let tables = self.merge_tables();
        for &key in absent.get(..count).unwrap_or_default() {
            if cache.has_beside(key) {
                continue;
            }
            if let Some(id) = self.whole_short(key) {
                cache.keep_short(key, &[id]);
                continue;
            }
            let (bytes, length) = key.bytes();
            let text = bytes.get(..length).unwrap_or_default();
            if key.is_ascii() {
                merged.push(&tables, key, Scan::of_bytes(&tables, text), cache);
            } else if key.is_part() || self.seams.first_part(text) == length {
                merged.push(&tables, key, characters.begin(&tables, self.seams, text), cache);
            }
        }
        merged.finish(&tables, cache);
    }
}

/// Pieces that are merged beside each other.
#[derive(Default)]
struct Together {
    scans: [(Key, Scan<BYTES>); TOGETHER],
    used: usize,
}

impl Together {
    fn push(&mut self, tables: &MergeTables<'_>, key: Key, scan: Scan<BYTES>, cache: &mut PieceCache) {
        if let Some(place) = self.scans.get_mut(self.used) {
            *place = (key, scan);
            self.used += 1;
        }
        if self.used == TOGETHER {
            self.finish(tables, cache);
        }
    }

    /// A merge of each in turn, until none has one.
    fn finish(&mut self, tables: &MergeTables<'_>, cache: &mut PieceCache) {
        let scans = self.scans.get_mut(..self.used).unwrap_or_default();
        let mut going = (1_u32 << self.used) - 1;
        while going != 0 {
            for (bit, (_, scan)) in scans.iter_mut().enumerate() {
                if going >> bit & 1 == 1 && !scan.step(tables) {
                    going &= !(1 << bit);
                }
            }
        }
        for (key, scan) in scans {
            let mut ids = [TokenId::default(); SHORT_IDS];
            let mut count = 0;
            scan.tokens(|id, _| {
                if let Some(place) = ids.get_mut(count) {
                    *place = id;
                }
                count += 1;
            });
            if let Some(ids) = ids.get(..count) {
                cache.keep_short(*key, ids);
            }
        }
        self.used = 0;
    }
}
