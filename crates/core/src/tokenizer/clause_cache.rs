//! Pieces that were encoded before and are too long for the table of pieces, or have too many ids for it: clauses of languages that are
//! written without spaces, rules of signs, long numbers, names.
//!
//! Bytes and ids of each lie one after the other in two memories; a slot says where. When one of the memories is full, all is forgotten
//! and it begins again: what is not here is encoded, with the same ids.

use alloc::vec::Vec;

use crate::ids::TokenId;

/// The longest piece that is kept, in bytes.
pub(super) const LONGEST_CLAUSE: usize = 255;
/// 2^14 slots of 16 bytes: 256 KiB.
const SLOT_BITS: u32 = 14;
/// The most bytes of pieces: 1 MiB.
const TEXT: usize = 1 << 20;
/// The most ids: 1 MiB.
const IDS: usize = 1 << 18;

/// Where a piece and its ids lie; nothing is kept with a length of 0.
#[derive(Clone, Copy, Default)]
struct Slot {
    /// A part of the hash that the slot's place does not say.
    tag: u32,
    text: u32,
    ids: u32,
    length: u8,
    count: u8,
}

/// Without any memory until something is kept.
#[derive(Default)]
pub(super) struct ClauseCache {
    slots: Vec<Slot>,
    text: Vec<u8>,
    ids: Vec<TokenId>,
}

impl ClauseCache {
    /// The ids of a piece with this hash, if it is there.
    pub(super) fn find(&self, piece: &[u8], hash: u64) -> Option<&[TokenId]> {
        let (place, tag) = place_of(hash);
        let slot = self.slots.get(place).filter(|slot| slot.tag == tag && usize::from(slot.length) == piece.len())?;
        let kept = self.text.get(slot.text as usize..)?.get(..piece.len())?;
        let ids = self.ids.get(slot.ids as usize..)?.get(..usize::from(slot.count))?;
        (kept == piece).then_some(ids)
    }

    /// Keep a piece of at most [`LONGEST_CLAUSE`] bytes with its ids, of which it has no more than bytes.
    pub(super) fn keep(&mut self, piece: &[u8], hash: u64, ids: &[TokenId]) {
        let (Ok(length), Ok(count)) = (u8::try_from(piece.len()), u8::try_from(ids.len())) else { return };
        if self.slots.is_empty() || self.text.len() + piece.len() > TEXT || self.ids.len() + ids.len() > IDS {
            self.text.clear();
            self.ids.clear();
            self.slots.clear();
            self.slots.resize(1 << SLOT_BITS, Slot::default());
        }
        // Both are below 2^20.
        let (Ok(text), Ok(first)) = (u32::try_from(self.text.len()), u32::try_from(self.ids.len())) else { return };
        let (place, tag) = place_of(hash);
        if let Some(slot) = self.slots.get_mut(place) {
            *slot = Slot { tag, text, ids: first, length, count };
            self.text.extend_from_slice(piece);
            self.ids.extend_from_slice(ids);
        }
    }
}

/// The place of the slot of a hash, and what else is kept of it.
#[allow(clippy::cast_possible_truncation)] // parts of it
const fn place_of(hash: u64) -> (usize, u32) {
    ((hash >> (64 - SLOT_BITS)) as usize, hash as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::hash_of;
    use std::vec;

    fn find<'c>(cache: &'c ClauseCache, piece: &[u8]) -> Option<&'c [TokenId]> {
        cache.find(piece, hash_of(piece))
    }

    fn keep(cache: &mut ClauseCache, piece: &[u8], ids: &[TokenId]) {
        cache.keep(piece, hash_of(piece), ids);
    }

    /// A piece of 31 to 255 bytes of which only the end differs from others of its length, and as many ids as it has bytes.
    fn clause(number: usize) -> (Vec<u8>, Vec<TokenId>) {
        let length = 31 + number % 225;
        let mut piece = vec![b'-'; length];
        let end = std::format!("{number:08}").into_bytes();
        piece[length - end.len()..].copy_from_slice(&end);
        let first = u32::try_from(number).expect("small");
        (piece, (first..).take(length).map(TokenId::new).collect())
    }

    #[test]
    fn what_was_kept_is_found_and_nothing_else() {
        let mut cache = ClauseCache::default();
        assert!(find(&cache, &clause(1).0).is_none());
        let mut found = 0;
        for number in 0..40_000 {
            let (piece, ids) = clause(number);
            assert!(find(&cache, &piece).is_none());
            keep(&mut cache, &piece, &ids);
            assert_eq!(find(&cache, &piece), Some(ids.as_slice()));
            let (earlier, ids) = clause(number.saturating_sub(1_000));
            if let Some(known) = find(&cache, &earlier) {
                assert_eq!(known, ids);
                found += 1;
            }
            assert!(cache.text.len() <= TEXT && cache.ids.len() <= IDS);
        }
        assert!(found > 10_000, "{found}");
    }

    #[test]
    fn zeros_are_a_piece_like_others() {
        let mut cache = ClauseCache::default();
        keep(&mut cache, &[1; 31], &[TokenId::new(1)]);
        assert!((1..40).all(|length| find(&cache, &vec![0; length]).is_none()));
        keep(&mut cache, &[0; 31], &[TokenId::new(2)]);
        assert_eq!(find(&cache, &[0; 31]), Some(&[TokenId::new(2)][..]));
        assert!(find(&cache, &[0; 32]).is_none() && find(&cache, &[0; 30]).is_none());
    }
}
