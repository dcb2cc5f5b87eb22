//! Pieces that were encoded before, with their ids: bounded, exact, and one line of the processor's cache for a look-up.
//!
//! An entry holds a piece whole, so that a hit is never another piece. Pieces of up to 15 bytes, which are nearly all, have entries
//! of 32 bytes with up to four ids, two to a line; those of up to 31 bytes have entries of 64 with up to eight. Tables begin small and
//! grow as they fill, to 4 and 2 MiB. A short piece for which its bucket has no place stands in the one beside it. What is not here is merged: the cache changes how long it takes, never what comes out.

use alloc::vec;
use alloc::vec::Vec;

use super::sink::Room;
use crate::ids::TokenId;

/// The longest piece that has a short entry, in bytes: 15 and a byte for the lengths make a key.
const SHORT: usize = 15;
/// The longest piece that is kept.
pub(crate) const LONGEST: usize = 31;
/// The most ids of a short entry.
pub(crate) const SHORT_IDS: usize = 4;
/// The most ids of a long entry.
const LONG_IDS: usize = 8;
/// Where a key has the number of ids; a piece as it is looked up has none.
const COUNT_SHIFT: u32 = 124;
/// Where a key has its length.
const LENGTH_SHIFT: u32 = 120;
/// A table begins with 2^10 buckets of 64 bytes: 64 kB.
const FIRST_BITS: u32 = 10;
/// How many more bits a table has after it has grown.
const GROWTH_BITS: u32 = 2;
/// 2^16 buckets: 4 MiB.
const SHORT_BITS: u32 = 16;
/// 2^15 buckets: 2 MiB.
const LONG_BITS: u32 = 15;

/// A short piece as a number: its bytes, zero after them, and its length in the top byte. No piece is 0.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Key(u128);

/// A longer piece as two numbers; the second has the length less 16.
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

/// 2^`bits` buckets.
#[derive(Default)]
struct Table<B> {
    buckets: Vec<B>,
    bits: u32,
    /// How many entries were written since it has this size.
    written: usize,
}

impl Key {
    /// The key of the first `length` bytes of `text`; `None` where they are too many.
    #[inline]
    pub(crate) fn new(text: &[u8], length: usize) -> Option<Self> {
        if length > SHORT {
            return None;
        }
        let kept = first_16(text) & ((1 << (8 * length)) - 1);
        Some(Self(kept | (length as u128) << LENGTH_SHIFT))
    }

    #[inline]
    const fn hash(self) -> u64 {
        mix(self.0)
    }
}

impl LongKey {
    /// The key of a piece of 16 to 31 bytes.
    fn new(piece: &[u8]) -> Option<Self> {
        let (head, tail) = piece.split_first_chunk::<16>().filter(|_| piece.len() <= LONGEST)?;
        Some(Self([u128::from_le_bytes(*head), first_16(tail) | (tail.len() as u128) << LENGTH_SHIFT]))
    }

    const fn hash(self) -> u64 {
        let Self([head, tail]) = self;
        mix(head).rotate_left(31) ^ mix(tail)
    }
}

/// The first 16 bytes of a text, zero after its end.
#[inline]
fn first_16(text: &[u8]) -> u128 {
    if let Some(bytes) = text.first_chunk::<16>() {
        return u128::from_le_bytes(*bytes);
    }
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
    u128::from_le_bytes(bytes)
}

/// The halves of a number, mixed by multiplication; any mixing is right, this one spreads the upper bits.
#[inline]
#[allow(clippy::cast_possible_truncation)] // the two halves
const fn mix(number: u128) -> u64 {
    let (low, high) = (number as u64, (number >> 64) as u64);
    (low ^ high.rotate_left(29)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Entry {
    const fn is_of(&self, key: Key) -> bool {
        (self.key ^ key.0) << (128 - COUNT_SHIFT) == 0
    }

    const fn count(&self) -> usize {
        (self.key >> COUNT_SHIFT) as usize
    }
}

impl<B: Copy + Default> Table<B> {
    /// The bucket of a hash.
    #[inline]
    fn bucket(&self, hash: u64) -> Option<&B> {
        self.buckets.get(self.place(hash))
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation)] // at most 17 bits
    const fn place(&self, hash: u64) -> usize {
        // Without memory there are no bits, and nothing at any place.
        (hash >> 1 >> (63 - self.bits)) as usize
    }

    /// Change the bucket of a hash; the table grows first where as much was written as it has buckets.
    fn write(&mut self, hash: u64, most_bits: u32, again: impl Fn(&mut Self, B), change: impl FnOnce(&mut B)) {
        if self.written >= self.buckets.len() && self.bits < most_bits {
            let bits = if self.bits == 0 { FIRST_BITS } else { most_bits.min(self.bits + GROWTH_BITS) };
            let grown = Self { buckets: vec![B::default(); 1 << bits], bits, written: 0 };
            let before = core::mem::replace(self, grown);
            before.buckets.into_iter().for_each(|bucket| again(self, bucket));
        }
        self.written += 1;
        let place = self.place(hash);
        if let Some(bucket) = self.buckets.get_mut(place) {
            change(bucket);
        }
    }
}

impl Table<Bucket> {
    fn keep(&mut self, entry: Entry) {
        let hash = mix(entry.key & ((1 << COUNT_SHIFT) - 1));
        let again = |table: &mut Self, Bucket([first, second])| {
            for entry in [second, first].into_iter().filter(|entry: &Entry| entry.key != 0) {
                table.keep(entry);
            }
        };
        let mut pushed_out = Entry::default();
        self.write(hash, SHORT_BITS, again, |Bucket([first, second])| {
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

    /// The entry of a key in the bucket beside its own.
    fn beside(&self, key: Key) -> Option<&Entry> {
        let Bucket([first, second]) = self.buckets.get(self.place(key.hash()) ^ 1)?;
        [first, second].into_iter().find(|entry| entry.is_of(key))
    }
}

impl Table<LongEntry> {
    fn keep(&mut self, entry: LongEntry) {
        let LongKey([head, tail]) = entry.key;
        let hash = LongKey([head, tail & ((1 << COUNT_SHIFT) - 1)]).hash();
        let again = |table: &mut Self, entry: LongEntry| {
            if entry.key != LongKey::default() {
                table.keep(entry);
            }
        };
        self.write(hash, LONG_BITS, again, |place| *place = entry);
    }
}

impl PieceCache {
    /// Write the ids of a short piece; whether it was there. There must be room for `SHORT_IDS`.
    #[inline]
    pub(crate) fn write(&self, key: Key, room: &mut Room) -> bool {
        let Some(entry) = self.entry(key) else { return false };
        room.write(entry.ids, entry.count());
        true
    }

    #[inline]
    pub(crate) fn prefetch(&self, key: Key) {
        if let Some(bucket) = self.short.bucket(key.hash()) {
            slm2_simd::prefetch(bucket);
        }
    }

    /// The ids of a piece, if it is there.
    pub(crate) fn find(&self, piece: &[u8]) -> Option<&[TokenId]> {
        match Key::new(piece, piece.len()) {
            Some(key) => {
                let entry = self.entry(key).or_else(|| self.short.beside(key))?;
                entry.ids.get(..entry.count())
            }
            None => self.find_long(piece),
        }
    }

    /// The ids of a piece that [`Self::write`] did not find, if it is there.
    pub(crate) fn find_elsewhere(&self, piece: &[u8]) -> Option<&[TokenId]> {
        match Key::new(piece, piece.len()) {
            Some(key) => self.short.beside(key).and_then(|entry| entry.ids.get(..entry.count())),
            None => self.find_long(piece),
        }
    }

    /// The ids of a piece of more than 15 bytes, if it is there.
    fn find_long(&self, piece: &[u8]) -> Option<&[TokenId]> {
        let key = LongKey::new(piece)?;
        let entry = self.long.bucket(key.hash())?;
        let LongKey([head, tail]) = entry.key;
        let found = head == key.0[0] && (tail ^ key.0[1]) << (128 - COUNT_SHIFT) == 0;
        entry.ids.get(..(tail >> COUNT_SHIFT) as usize).filter(|_| found)
    }

    #[inline]
    fn entry(&self, key: Key) -> Option<&Entry> {
        let Bucket([first, second]) = self.short.bucket(key.hash())?;
        // A choice and no branch: which of the two it is, nothing predicts.
        let entry = if first.is_of(key) { first } else { second };
        (entry.is_of(key) && key.0 != 0).then_some(entry)
    }

    /// Keep a piece with its ids, unless it is too long or they are too many.
    pub(crate) fn keep(&mut self, piece: &[u8], ids: &[TokenId]) {
        if let Some(key) = Key::new(piece, piece.len()).filter(|_| ids.len() <= SHORT_IDS) {
            let mut entry = Entry { key: key.0 | (ids.len() as u128) << COUNT_SHIFT, ..Entry::default() };
            entry.ids.iter_mut().zip(ids).for_each(|(to, from)| *to = *from);
            self.short.keep(entry);
        } else if let Some(LongKey([head, tail])) = LongKey::new(piece).filter(|_| ids.len() <= LONG_IDS) {
            let key = LongKey([head, tail | (ids.len() as u128) << COUNT_SHIFT]);
            let mut entry = LongEntry { key, ..LongEntry::default() };
            entry.ids.iter_mut().zip(ids).for_each(|(to, from)| *to = *from);
            self.long.keep(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::sink::Collect;

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
        let piece = |number: u32| std::format!("{number:0width$}", width = 6 + number as usize % 26).into_bytes();
        let expected = |number: u32| ids(&[number, number + 1, 7, 8][..=(number as usize % 4)]);
        assert!(cache.find(&piece(1)).is_none());
        for number in 0..200_000 {
            cache.keep(&piece(number), &expected(number));
        }
        cache.keep(&piece(200_000), &ids(&[1; 9]));
        let mut found = [0, 0];
        let mut room = Room::default();
        for number in 0..=200_000 {
            let piece = piece(number);
            if let Some(known) = cache.find(&piece) {
                assert_eq!(known, expected(number));
                found[usize::from(piece.len() > SHORT)] += 1;
            }
            let mut out = Vec::new();
            if Key::new(&piece, piece.len()).is_some_and(|key| cache.write(key, &mut room)) {
                room.flush(&mut Collect(&mut out));
                assert_eq!(out, expected(number));
                assert!(cache.find(&piece).is_some());
            }
        }
        assert!(found[0] > 50_000 && found[1] > 15_000, "{found:?}");
    }
}
