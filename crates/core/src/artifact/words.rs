//! Entries of up to 15 bytes by their bytes: whole in the table, three to a line of the processor's cache, so that one look at memory
//! says which entry a piece is, or that it is none.

use alloc::vec::Vec;

use crate::ids::TokenId;
use crate::tokenizer::Key;

/// Entries of a bucket.
const WAYS: usize = 3;
/// The least number of buckets.
const FEWEST: usize = 64;

/// One line. Entries come from the left; the key of a free place is that of no piece.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
struct Bucket {
    keys: [Key; WAYS],
    ids: [TokenId; WAYS],
    /// An entry of this bucket stands in one of the next, because here was no place.
    overflowed: bool,
}

/// 2^`bits` buckets.
pub(super) struct Words {
    buckets: Vec<Bucket>,
    bits: u32,
}

/// How an entry was taken.
pub(super) enum Taken {
    /// It stands there now; so many buckets were full.
    After(usize),
    /// An entry with the same bytes is there.
    Equal(TokenId),
}

impl Words {
    /// Room for so many entries.
    pub(super) fn with_room(entries: usize) -> Self {
        let bits = (entries * 2 / 5 + 1).max(FEWEST).next_power_of_two().trailing_zeros();
        let mut buckets = Vec::with_capacity(1 << bits);
        // Many at a time are copied, which is faster than writing them one by one.
        for _ in 0..(1_usize << bits) / FEWEST {
            buckets.extend_from_slice(&[Bucket::default(); FEWEST]);
        }
        Self { buckets, bits }
    }

    /// Take an entry.
    pub(super) fn insert(&mut self, key: Key, id: TokenId) -> Taken {
        let hash = key.hash();
        for passed in 0..self.buckets.len() {
            let place = self.place(hash, passed);
            let Some(bucket) = self.buckets.get_mut(place) else { break };
            for (kept, kept_id) in bucket.keys.iter_mut().zip(&mut bucket.ids) {
                if *kept == Key::default() {
                    (*kept, *kept_id) = (key, id);
                    return Taken::After(passed);
                }
                if *kept == key {
                    return Taken::Equal(*kept_id);
                }
            }
            bucket.overflowed = true;
        }
        // There is room for more than there are entries.
        Taken::After(self.buckets.len())
    }

    /// The entry with the bytes of a key that has this hash.
    #[inline]
    pub(super) fn find(&self, key: Key, hash: u64) -> Option<TokenId> {
        for passed in 0..self.buckets.len() {
            let bucket = self.buckets.get(self.place(hash, passed))?;
            // Choices and no branches: which of them it is, nothing predicts. No two are equal.
            let found = bucket.keys.iter().zip(bucket.ids);
            let found = found.fold(None, |found, (kept, id)| if *kept == key { Some(id) } else { found });
            if found.is_some() || !bucket.overflowed {
                return found;
            }
        }
        None
    }

    /// Say that [`Self::find`] will be asked for a key with this hash.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        if let Some(bucket) = self.buckets.get(self.place(hash, 0)) {
            slm2_simd::prefetch(bucket);
        }
    }

    #[inline]
    fn place(&self, hash: u64, passed: usize) -> usize {
        let first = usize::try_from(hash >> 1 >> (63 - self.bits)).unwrap_or(0);
        first.wrapping_add(passed) & (self.buckets.len() - 1)
    }
}
