//! Pieces that were merged before, with their ids: bounded, exact, and one cache line for a look-up.
//!
//! A bucket of two entries is 64 bytes. An entry holds a piece of up to 15 bytes whole, so that a hit is never another piece, and up
//! to four ids. The entry found is left where it is; a piece that is new takes the first place of its bucket, what stood there the
//! second. What is not here is merged: the cache changes how long it takes, never what comes out.

use alloc::vec;
use alloc::vec::Vec;

use crate::ids::TokenId;

/// The longest piece that is kept, in bytes: 15 and a byte for the lengths make a key.
pub(crate) const LONGEST: usize = 15;
/// The most ids that are kept of a piece.
const MOST_IDS: usize = 4;
/// 2^15 buckets of 64 bytes: 2 MiB.
const BUCKET_BITS: u32 = 15;

/// A piece as a number: its bytes, zero after them, and its length in the top byte. No piece is 0.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(u128);

#[derive(Clone, Copy, Default)]
#[repr(C, align(32))]
struct Entry {
    /// The key; 0 where there is none.
    key: u128,
    /// Ids, and above the last of them `NONE`.
    ids: [u32; MOST_IDS],
}

/// No id is as great.
const NONE: u32 = u32::MAX;

/// The cache; without any memory until something is kept.
#[derive(Default)]
pub(crate) struct PieceCache {
    buckets: Vec<[Entry; 2]>,
}

impl Key {
    /// The key of the first `length` bytes of `text`; `None` where they are too many.
    pub(crate) fn new(text: &[u8], length: usize) -> Option<Self> {
        if length > LONGEST {
            return None;
        }
        let bytes = if let Some(bytes) = text.first_chunk::<16>() {
            u128::from_le_bytes(*bytes)
        } else {
            let mut bytes = [0; 16];
            bytes.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
            u128::from_le_bytes(bytes)
        };
        let kept = bytes & ((1 << (8 * length)) - 1);
        Some(Self(kept | (length as u128) << 120))
    }

    #[allow(clippy::cast_possible_truncation)] // the two halves
    fn bucket(self) -> usize {
        // The halves of the key, mixed by multiplication; any mixing is right, this one spreads.
        let (low, high) = (self.0 as u64, (self.0 >> 64) as u64);
        let mixed = (low ^ high.rotate_left(29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> (64 - BUCKET_BITS)) as usize
    }
}

impl PieceCache {
    /// Append the ids of a piece; whether it was there.
    #[inline]
    pub(crate) fn append(&self, key: Key, ids: &mut Vec<TokenId>) -> bool {
        let Some([first, second]) = self.buckets.get(key.bucket()) else { return false };
        let entry = if first.key == key.0 {
            first
        } else if second.key == key.0 {
            second
        } else {
            return false;
        };
        let [one, rest @ ..] = entry.ids;
        ids.push(TokenId::new(one));
        if rest[0] != NONE {
            ids.extend(rest.iter().take_while(|&&id| id != NONE).map(|&id| TokenId::new(id)));
        }
        true
    }

    /// Keep a piece with its ids, unless they are too many.
    pub(crate) fn keep(&mut self, key: Key, ids: &[TokenId]) {
        if ids.len() > MOST_IDS {
            return;
        }
        if self.buckets.is_empty() {
            self.buckets = vec![[Entry::default(); 2]; 1 << BUCKET_BITS];
        }
        let mut entry = Entry { key: key.0, ids: [NONE; MOST_IDS] };
        entry.ids.iter_mut().zip(ids).for_each(|(to, from)| *to = from.get());
        if let Some([first, second]) = self.buckets.get_mut(key.bucket()) {
            *second = *first;
            *first = entry;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(numbers: &[u32]) -> Vec<TokenId> {
        numbers.iter().map(|&number| TokenId::new(number)).collect()
    }

    #[test]
    fn keys_differ_where_pieces_do() {
        let texts: [&[u8]; 6] = [b"a", b"a\0", b"\0", b"\0\0", b"abcdefghijklmno", b"abcdefghijklmnopq"];
        let keys: Vec<_> =
            texts.iter().filter_map(|text| Key::new(text, text.len().min(16))).map(|key| key.0).collect();
        assert_eq!(keys.len(), 5);
        assert!((1..5).all(|at| !keys[..at].contains(&keys[at])));
        // What follows the piece in the text takes no part.
        assert!(Key::new(b"ab the rest of it", 2) == Key::new(b"ab", 2));
    }

    #[test]
    fn what_was_kept_is_found_and_nothing_else() {
        let mut cache = PieceCache::default();
        let key = |number: u32| Key::new(&number.to_le_bytes(), 4).expect("short");
        let mut out = Vec::new();
        assert!(!cache.append(key(1), &mut out));
        for number in 0..200_000 {
            cache.keep(key(number), &ids(&[number, number + 1, 7, 8][..=number as usize % 4]));
        }
        cache.keep(key(200_000), &ids(&[1, 2, 3, 4, 5]));
        let mut found = 0;
        for number in 0..200_001 {
            out.clear();
            if cache.append(key(number), &mut out) {
                assert_eq!(out, ids(&[number, number + 1, 7, 8][..=number as usize % 4]));
                found += 1;
            }
        }
        assert!((20_000..=2 << BUCKET_BITS).contains(&found), "{found}");
    }
}
