//! Pieces that were encoded before, with their ids: bounded, exact, and one line of the processor's cache for a look-up.
//!
//! An entry holds a piece whole, so that a hit is never another piece. Pieces of up to 15 bytes, which are nearly all, have entries
//! of 32 bytes with up to four ids, two to a line; those of up to 30 bytes have entries of 64 with up to eight. Tables begin small and
//! grow to 4 and 2 MiB. A short piece for which its bucket has no place stands in the one beside it, until it is met there and comes home.
//! What is not here is merged: the cache changes how long it takes, never what comes out.

use alloc::vec;
use alloc::vec::Vec;

use super::key::{Key, LENGTH_SHIFT, PART, first_16, mix};
use crate::ids::TokenId;

/// The longest piece that is kept here.
pub(crate) const LONGEST: usize = 30;
/// The most ids of a short entry.
pub(crate) const SHORT_IDS: usize = 4;
/// The most ids of a long entry.
const LONG_IDS: usize = 8;
/// Where the key of an entry has the number of its ids less one, in three bits.
const COUNT_SHIFT: u32 = 124;
const COUNT: u128 = 7 << COUNT_SHIFT;
/// A table begins with 2^10 buckets of 64 bytes: 64 kB.
const FIRST: usize = 1 << 10;
/// How many times as many it has after it has grown: to 2 MiB at once, since each step costs as much as the memory that it is the first to
/// touch. A page of the web counts its memory.
const GROWTH: usize = if cfg!(target_arch = "wasm32") { 4 } else { 32 };
/// 4 MiB.
const MOST_SHORT: usize = 1 << 16;
/// 2 MiB.
const MOST_LONG: usize = 1 << 15;

/// A longer piece or part as two numbers; the second is like the key of what comes after the first 16 bytes, with a length that is one more. None is 0.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct LongKey([u128; 2]);

#[derive(Clone, Copy, Default)]
struct Entry {
    /// The key, and in its top four bits the number of ids; 0 where there is none.
    key: u128,
    ids: [TokenId; SHORT_IDS],
}

/// One line of the processor's cache: what came last stands first.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
struct Bucket([Entry; 2]);

/// One line as well.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
struct LongEntry {
    key: LongKey,
    ids: [TokenId; LONG_IDS],
}

/// The cache; without any memory until something is kept.
#[derive(Default)]
pub(crate) struct PieceCache {
    short: Table<Bucket>,
    long: Table<LongEntry>,
}

/// Buckets, a power of two of them.
#[derive(Default)]
struct Table<B> {
    buckets: Vec<B>,
    /// How many entries were written since it has this size.
    written: usize,
}

impl LongKey {
    /// The key of a piece, or of a part of one, of 16 to 30 bytes.
    fn new(piece: &[u8], part: bool) -> Option<Self> {
        let (head, tail) = piece.split_first_chunk::<16>().filter(|_| piece.len() <= LONGEST)?;
        let length = (tail.len() + 1) as u128;
        Some(Self([u128::from_le_bytes(*head), first_16(tail) | length << LENGTH_SHIFT | if part { PART } else { 0 }]))
    }

    const fn hash(self) -> u64 {
        let Self([head, tail]) = self;
        mix(head).rotate_left(31) ^ mix(tail)
    }
}

impl Entry {
    const fn is_of(&self, key: Key) -> bool {
        (self.key ^ key.0) & !COUNT == 0
    }

    const fn count(&self) -> usize {
        count_of(self.key)
    }
}

/// How many ids an entry with such a key has.
const fn count_of(key: u128) -> usize {
    ((key & COUNT) >> COUNT_SHIFT) as usize + 1
}

/// The first ids of a list, and how many it has.
fn few(ids: &[TokenId]) -> ([TokenId; SHORT_IDS], usize) {
    let mut first = [TokenId::default(); SHORT_IDS];
    first.iter_mut().zip(ids).for_each(|(place, &id)| *place = id);
    (first, ids.len())
}

impl<B: Copy + Default> Table<B> {
    /// The bucket of a hash.
    #[inline]
    fn bucket(&self, hash: u64) -> Option<&B> {
        self.buckets.get(self.place(hash))
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation)] // 16 bits
    fn place(&self, hash: u64) -> usize {
        // Its upper bits are mixed best, and there are at most 2^16 buckets. Without memory there is nothing at any place.
        (hash >> 48) as usize & self.buckets.len().wrapping_sub(1)
    }

    /// Change the bucket of a hash; the table grows first where as much was written as it has buckets.
    #[inline]
    fn write(&mut self, hash: u64, most: usize, again: impl Fn(&mut Self, B), change: impl FnOnce(&mut B)) {
        let size = self.buckets.len();
        if self.written >= size && size < most {
            self.grow((size * GROWTH).clamp(FIRST, most), again);
        }
        self.written += 1;
        let place = self.place(hash);
        if let Some(bucket) = self.buckets.get_mut(place) {
            change(bucket);
        }
    }

    #[inline(never)]
    fn grow(&mut self, size: usize, again: impl Fn(&mut Self, B)) {
        let grown = Self { buckets: vec![B::default(); size], written: 0 };
        let before = core::mem::replace(self, grown);
        before.buckets.into_iter().for_each(|bucket| again(self, bucket));
    }
}

impl Table<Bucket> {
    /// Keep an entry whose key has this hash.
    fn keep(&mut self, entry: Entry, hash: u64) {
        let again = |table: &mut Self, Bucket([first, second])| {
            for entry in [second, first].into_iter().filter(|entry: &Entry| entry.key != 0) {
                table.keep(entry, mix(entry.key & !COUNT));
            }
        };
        let mut pushed_out = Entry::default();
        self.write(hash, MOST_SHORT, again, |Bucket([first, second])| {
            pushed_out = core::mem::replace(second, *first);
            *first = entry;
        });
        let beside = self.place(hash) ^ 1;
        if let Some(Bucket([first, second])) = self.buckets.get_mut(beside).filter(|_| pushed_out.key != 0) {
            let free = if first.key == 0 { first } else { second };
            if free.key == 0 {
                *free = pushed_out;
            }
        }
    }

    /// Whether a bucket seems not to have a key: only the first 8 bytes are compared, so that now and then one that is absent is taken for
    /// present.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // the first 8 bytes
    fn lacks(&self, place: usize, key: Key) -> bool {
        let differs = |entry: &Entry| entry.key as u64 != key.0 as u64;
        self.buckets.get(place).is_none_or(|Bucket([first, second])| differs(first) & differs(second))
    }

    /// Four numbers of which the first are the ids of an entry of a bucket, and how many, if it has one with this key.
    #[inline]
    fn entry(&self, place: usize, key: Key) -> Option<([TokenId; SHORT_IDS], usize)> {
        let Bucket([first, second]) = self.buckets.get(place)?;
        // A choice and no branch: which of the two it is, nothing predicts.
        let (is_first, is_second) = (first.is_of(key), second.is_of(key));
        let entry = if is_first { first } else { second };
        (is_first | is_second).then_some((entry.ids, entry.count()))
    }

    /// The same of an entry that stands in the bucket beside its own. It changes places with the older entry of its own bucket: what comes
    /// often is to be where it is looked for first.
    fn bring(&mut self, hash: u64, key: Key) -> Option<([TokenId; SHORT_IDS], usize)> {
        let place = self.place(hash);
        let [left, right] = self.buckets.get_mut(place & !1..)?.first_chunk_mut()?;
        let (Bucket([_, older]), Bucket(beside)) = if place & 1 == 0 { (left, right) } else { (right, left) };
        let entry = beside.iter_mut().find(|entry| entry.is_of(key))?;
        core::mem::swap(older, entry);
        Some((older.ids, older.count()))
    }
}

impl Table<LongEntry> {
    fn keep(&mut self, entry: LongEntry) {
        let LongKey([head, tail]) = entry.key;
        let hash = LongKey([head, tail & !COUNT]).hash();
        let again = |table: &mut Self, entry: LongEntry| {
            if entry.key != LongKey::default() {
                table.keep(entry);
            }
        };
        self.write(hash, MOST_LONG, again, |place| *place = entry);
    }
}

impl PieceCache {
    /// Say that a key with this hash will be looked for.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        if let Some(bucket) = self.short.bucket(hash) {
            slm2_simd::prefetch(bucket);
        }
    }

    /// Say that a piece of more than 15 bytes will be looked for, or such a part of one.
    pub(super) fn prefetch_long(&self, piece: &[u8], part: bool) {
        if let Some(entry) = LongKey::new(piece, part).and_then(|key| self.long.bucket(key.hash())) {
            slm2_simd::prefetch(entry);
        }
    }

    /// Whether the bucket of a key seems not to have it.
    #[inline]
    pub(super) fn lacks(&self, key: Key, hash: u64) -> bool {
        self.short.lacks(self.short.place(hash), key)
    }

    /// Whether the bucket beside that of a key seems not to have it.
    #[inline]
    pub(super) fn lacks_beside(&self, key: Key, hash: u64) -> bool {
        self.short.lacks(self.short.place(hash) ^ 1, key)
    }

    /// Say that [`Self::lacks_beside`] will be asked for a key with this hash.
    #[inline]
    pub(super) fn prefetch_beside(&self, hash: u64) {
        if let Some(bucket) = self.short.buckets.get(self.short.place(hash) ^ 1) {
            slm2_simd::prefetch(bucket);
        }
    }

    /// Four numbers of which the first are the ids of a short piece or part, and how many, if it is there.
    pub(super) fn find(&mut self, key: Key) -> Option<([TokenId; SHORT_IDS], usize)> {
        let hash = key.hash();
        self.entry(key, hash).or_else(|| self.bring(key, hash))
    }

    /// The ids of a piece of more than 15 bytes, or of such a part of one, if it is there.
    pub(super) fn find_long(&self, piece: &[u8], part: bool) -> Option<&[TokenId]> {
        let key = LongKey::new(piece, part)?;
        let entry = self.long.bucket(key.hash())?;
        let LongKey([head, tail]) = entry.key;
        let found = head == key.0[0] && (tail ^ key.0[1]) & !COUNT == 0;
        entry.ids.get(..count_of(tail)).filter(|_| found)
    }

    /// Four numbers of which the first are the ids of a short piece or part, and how many, if its bucket has it.
    #[inline]
    pub(super) fn entry(&self, key: Key, hash: u64) -> Option<([TokenId; SHORT_IDS], usize)> {
        self.short.entry(self.short.place(hash), key)
    }

    /// The same, if the bucket beside its own has it, which it leaves for its own.
    #[inline]
    pub(super) fn bring(&mut self, key: Key, hash: u64) -> Option<([TokenId; SHORT_IDS], usize)> {
        self.short.bring(hash, key)
    }

    /// Keep a piece or part with its key and ids; not where it is too long or they are too many.
    pub(super) fn keep(&mut self, piece: &[u8], key: Key, part: bool, ids: &[TokenId]) -> bool {
        if key.is_none() { self.keep_long(piece, part, ids) } else { self.keep_short(key, key.hash(), few(ids)) }
    }

    /// Keep a short piece or part with this hash and its ids; not where they are too many.
    #[inline]
    pub(super) fn keep_short(&mut self, key: Key, hash: u64, (ids, count): ([TokenId; SHORT_IDS], usize)) -> bool {
        let fit = (1..=SHORT_IDS).contains(&count);
        if fit {
            self.short.keep(Entry { key: key.0 | ((count - 1) as u128) << COUNT_SHIFT, ids }, hash);
        }
        fit
    }

    /// Keep a piece of 16 to 30 bytes, or such a part of one, with its ids; not where it is longer or they are too many.
    fn keep_long(&mut self, piece: &[u8], part: bool, ids: &[TokenId]) -> bool {
        let (Some(LongKey([head, tail])), Some(count)) = (LongKey::new(piece, part), ids.len().checked_sub(1)) else {
            return false;
        };
        let key = LongKey([head, tail | (count as u128) << COUNT_SHIFT]);
        let mut entry = LongEntry { key, ..LongEntry::default() };
        let Some(place) = entry.ids.get_mut(..ids.len()) else { return false };
        place.copy_from_slice(ids);
        self.long.keep(entry);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(numbers: &[u32]) -> Vec<TokenId> {
        numbers.iter().map(|&number| TokenId::new(number)).collect()
    }

    fn key_of(piece: &[u8], part: bool) -> Option<Key> {
        Key::new(piece, piece.len()).map(|key| if part { key.as_part() } else { key })
    }

    /// What is known of a piece or part, through every way there is.
    fn found(cache: &mut PieceCache, piece: &[u8], part: bool) -> Option<Vec<TokenId>> {
        let Some(key) = key_of(piece, part) else { return cache.find_long(piece, part).map(<[TokenId]>::to_vec) };
        let found = cache.find(key).map(|(ids, count)| ids[..count].to_vec());
        // What was found is at home now; what is not there may seem to be.
        assert!(found.is_none() || !cache.lacks(key, key.hash()));
        found
    }

    fn keep(cache: &mut PieceCache, piece: &[u8], part: bool, ids: &[TokenId]) -> bool {
        cache.keep(piece, key_of(piece, part).unwrap_or(Key::NONE), part, ids)
    }

    #[test]
    fn what_was_kept_is_found_and_nothing_else() {
        let mut cache = PieceCache::default();
        let piece = |number: u32| std::format!("{number:0width$}", width = 6 + number as usize % 25).into_bytes();
        let expected = |number: u32, part| ids(&[number, number + 1, u32::from(part), 8][..=(number as usize % 4)]);
        assert!(found(&mut cache, &piece(1), false).is_none());
        for number in 0..200_000 {
            for part in [false, true] {
                assert!(keep(&mut cache, &piece(number), part, &expected(number, part)));
            }
        }
        let mut count = [0, 0];
        for number in 0..200_000 {
            for part in [false, true] {
                let piece = piece(number);
                if let Some(known) = found(&mut cache, &piece, part) {
                    assert_eq!(known, expected(number, part));
                    count[usize::from(piece.len() > 15)] += 1;
                }
            }
        }
        assert!(count[0] > 50_000 && count[1] > 15_000, "{count:?}");
    }

    #[test]
    fn what_is_empty_is_no_entry() {
        for length in 1..40 {
            let zeros = std::vec![0; length];
            for part in [false, true] {
                let mut cache = PieceCache::default();
                assert!(keep(&mut cache, b"one that is short", part, &ids(&[1])));
                assert!(keep(&mut cache, b"another", part, &ids(&[2])));
                assert!(found(&mut cache, &zeros, part).is_none(), "{length} {part}");
                let kept = (1..=LONGEST).contains(&length);
                assert_eq!(keep(&mut cache, &zeros, part, &ids(&[3])), kept);
                assert_eq!(found(&mut cache, &zeros, part), kept.then_some(ids(&[3])), "{length} {part}");
                assert!(found(&mut cache, &zeros, !part).is_none(), "{length} {part}");
            }
        }
    }

    #[test]
    fn too_many_ids_are_not_kept() {
        let mut cache = PieceCache::default();
        for (piece, most) in [(&b"short"[..], SHORT_IDS), (b"one of 16 bytes.", LONG_IDS)] {
            assert!(!keep(&mut cache, piece, false, &vec![TokenId::new(5); most + 1]));
            assert!(found(&mut cache, piece, false).is_none());
            assert!(keep(&mut cache, piece, false, &vec![TokenId::new(5); most]));
            assert_eq!(found(&mut cache, piece, false), Some(vec![TokenId::new(5); most]));
        }
    }
}
