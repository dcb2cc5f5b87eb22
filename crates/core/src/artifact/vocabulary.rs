//! Section 0x40: the bytes of each plain token.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::Checks;
use super::layout::{self, part, size, u32_at, u32_from, u64_from};
use super::words::{Taken, Words};
use crate::error::Error;
use crate::error_code::ErrorCode;
use crate::ids::TokenId;
use crate::tokenizer::{Key, SHORT, hash_of};

const MAX_TOKEN_BYTES: u32 = 65_535;

/// The section, opened.
#[derive(Clone, Copy)]
pub(crate) struct Vocabulary<'a> {
    pub(crate) count: u32,
    byte_length: u32,
    offsets: &'a [u8],
    bytes: &'a [u8],
}

/// What the checks find out about the vocabulary and the engine needs.
pub(crate) struct VocabularyIndex {
    /// The token that is the single byte, for each byte.
    pub(crate) of_byte: [TokenId; 256],
    by_bytes: ByBytes,
}

/// 2^16 bits for the hashes of long entries, of which Qwen3 has a few thousand.
const LONG_BITS: u32 = 16;

/// Ids, to be found by their bytes.
enum ByBytes {
    /// Those of up to 15 bytes, and longer ones.
    Hashed(Words, LongWords),
    /// In the order of their bytes: where a hash would take too long, which is so only by intent.
    Sorted(Vec<u32>),
}

/// Entries of more than 15 bytes.
struct LongWords {
    /// Ids by open addressing: at each place an id below a part of the hash, or `FREE`; more places than ids.
    places: Vec<u32>,
    /// A bit for each hash of length and end that an entry has: most long pieces of text are none, and need no further look.
    ends: Vec<u64>,
}

/// Both tables in the making.
struct Hashed {
    words: Words,
    long: LongWords,
    /// What may still be compared before sorting is better.
    patience: u64,
}

/// Entries that are taken together.
const TOGETHER: u32 = 16;
/// Entries that tables take in one call: where code is replaced by better code between calls (`digest::BYTES_AT_A_TIME`), that is soon.
const ENTRIES_AT_A_TIME: u32 = 64 * TOGETHER;

/// At a place of the hash table: no id. No entry has this number: there are at most 2^21 - 1.
const FREE: u32 = u32::MAX;

impl<'a> Vocabulary<'a> {
    /// The section as its counts part it.
    pub(crate) fn over(section: &'a [u8]) -> Self {
        let count = u32_from(section, 0).unwrap_or(0);
        let byte_length = u32_from(section, 4).unwrap_or(0);
        let at = 8 + 4 * (u64::from(count) + 1);
        Self {
            count,
            byte_length,
            offsets: part(section, 8, at),
            bytes: part(section, at, at + u64::from(byte_length)),
        }
    }

    /// Step 4 of the order of checks.
    #[inline(never)]
    pub(super) fn check(
        section: &'a [u8],
        vocabulary_size: u32,
        checks: Checks,
    ) -> Result<(Self, VocabularyIndex), Error> {
        if section.len() < 8 {
            return Err(length_error(section, 8));
        }
        let vocabulary = Self::over(section);
        let count = vocabulary.count;
        if count != vocabulary_size {
            return Err(count_error(count, vocabulary_size));
        }
        if !(256..=layout::MAX_ID).contains(&count) {
            return Err(count_error(count, 256));
        }
        let expected = 8 + 4 * (u64::from(count) + 1) + u64::from(vocabulary.byte_length);
        if size(section) != expected {
            return Err(length_error(section, expected));
        }
        if checks == Checks::All {
            vocabulary.check_offsets()?;
        }
        let index = vocabulary.index()?;
        Ok((vocabulary, index))
    }

    /// The bytes of a token.
    pub(crate) fn token(&self, id: TokenId) -> &'a [u8] {
        self.bounds(id).and_then(|(start, end)| self.bytes.get(start..end)).unwrap_or_default()
    }

    /// Where a token begins and ends among the bytes.
    #[inline]
    fn bounds(&self, id: TokenId) -> Option<(usize, usize)> {
        let both = u64_from(self.offsets, id.index() * 4)?;
        Some((usize::try_from(both & u64::from(u32::MAX)).ok()?, usize::try_from(both >> 32).ok()?))
    }

    /// The key of a token; `None` where it has more than 15 bytes.
    #[inline]
    pub(crate) fn key(&self, id: TokenId) -> Option<Key> {
        let (start, end) = self.bounds(id)?;
        // What follows the token lies in the same section, so that nearly always 16 bytes are there to be loaded at once.
        Key::new(self.bytes.get(start..)?, end.wrapping_sub(start))
    }

    /// The plain token of a number, sixteen bytes from its first on and how many of them are its own; `None` where there is no such
    /// token, or it is longer.
    #[inline]
    pub(crate) fn sixteen(&self, number: u32) -> Option<(&'a [u8; 16], usize)> {
        let (start, end) = self.bounds(self.id(number)?)?;
        let length = end.wrapping_sub(start);
        self.bytes.get(start..)?.first_chunk().filter(|_| length <= 16).map(|sixteen| (sixteen, length))
    }

    /// The plain token of a number.
    pub(crate) fn id(&self, number: u32) -> Option<TokenId> {
        (number < self.count).then_some(TokenId::new(number))
    }

    /// All ids.
    pub(crate) fn ids(self) -> impl Iterator<Item = TokenId> {
        (0..self.count).map(TokenId::new)
    }

    /// The numbers of all ids, in the stretches in which tables are made.
    pub(crate) fn stretches(self) -> impl Iterator<Item = Range<u32>> {
        (0..self.count)
            .step_by(ENTRIES_AT_A_TIME as usize)
            .map(move |first| first..self.count.min(first + ENTRIES_AT_A_TIME))
    }

    /// The bytes of a token of so many.
    pub(crate) fn token_of<const N: usize>(&self, id: TokenId) -> Option<&'a [u8; N]> {
        let (start, end) = self.bounds(id)?;
        if end.wrapping_sub(start) == N { self.bytes.get(start..)?.first_chunk() } else { None }
    }

    /// From 0 to the end, each entry of 1 to 65,535 bytes.
    fn check_offsets(&self) -> Result<(), Error> {
        let mut start = 0;
        for id in self.ids() {
            let end = u32_at(self.offsets, id.index() + 1).unwrap_or(0);
            let length = end.saturating_sub(start);
            let first = id.index() > 0 || u32_at(self.offsets, 0) == Some(0);
            let last = id.get() + 1 < self.count || end == self.byte_length;
            if !(1..=MAX_TOKEN_BYTES).contains(&length) || !first || !last {
                return Err(Error::new(ErrorCode::ArtifactVocabularyOffsets, [("id", id.get().into())]));
            }
            start = end;
        }
        Ok(())
    }

    /// Every single byte is a token, and no two tokens are equal.
    fn index(&self) -> Result<VocabularyIndex, Error> {
        let mut of_byte = [None; 256];
        let longer = self.stretches().map(|stretch| self.note_bytes(stretch, &mut of_byte)).sum();
        if let Some(byte) = of_byte.iter().position(Option::is_none) {
            return Err(Error::new(ErrorCode::ArtifactVocabularyBytes, [("byte", byte.into())]));
        }
        let by_bytes = match self.hashed(longer)? {
            Some(hashed) => hashed,
            None => ByBytes::Sorted(self.sorted()?),
        };
        Ok(VocabularyIndex { of_byte: of_byte.map(Option::unwrap_or_default), by_bytes })
    }

    /// Note which ids of a stretch are single bytes; how many have more than 15.
    #[inline(never)]
    fn note_bytes(&self, stretch: Range<u32>, of_byte: &mut [Option<TokenId>; 256]) -> usize {
        let mut longer = 0;
        for id in stretch.map(TokenId::new) {
            let Some((start, end)) = self.bounds(id) else { continue };
            longer += usize::from(end.wrapping_sub(start) > SHORT);
            let entry = self.token_of(id).and_then(|&[byte]| of_byte.get_mut(usize::from(byte)));
            if let Some(entry @ &mut None) = entry {
                *entry = Some(id);
            }
        }
        longer
    }

    /// The hash tables over all ids; `None` where bytes collide so often that sorting is better.
    /// `longer` of them have more than 15 bytes.
    fn hashed(&self, longer: usize) -> Result<Option<ByBytes>, Error> {
        let words = Words::with_room(self.count as usize - longer);
        let places = vec![FREE; (longer + longer / 2 + 1).next_power_of_two()];
        let long = LongWords { places, ends: vec![0; 1 << (LONG_BITS - 6)] };
        // Entries that are compared with others now and then cost about their length in all; this is far more.
        let patience = 16 * (u64::from(self.byte_length) + u64::from(self.count));
        let mut tables = Hashed { words, long, patience };
        for stretch in self.stretches() {
            if !self.take(stretch, &mut tables)? {
                return Ok(None);
            }
        }
        Ok(Some(ByBytes::Hashed(tables.words, tables.long)))
    }

    /// Take the entries of a stretch; whether there is patience left.
    #[inline(never)]
    fn take(&self, stretch: Range<u32>, tables: &mut Hashed) -> Result<bool, Error> {
        let mut keys = [None; TOGETHER as usize];
        for first in stretch.clone().step_by(TOGETHER as usize) {
            // All lines of a few entries are asked for before the first is needed.
            for (id, key) in (first..stretch.end).zip(&mut keys) {
                *key = self.key(TokenId::new(id));
                if let Some(key) = *key {
                    tables.words.prefetch(key.hash());
                }
            }
            for (id, key) in (first..stretch.end).zip(keys) {
                let id = TokenId::new(id);
                let cost = match key.map(|key| tables.words.insert(key, id)) {
                    Some(Taken::After(buckets)) => buckets as u64,
                    Some(Taken::Equal(earlier)) => return Err(duplicate(id.get(), earlier.get())),
                    None => self.take_long(&mut tables.long, id)?,
                };
                let Some(left) = tables.patience.checked_sub(cost) else { return Ok(false) };
                tables.patience = left;
            }
        }
        Ok(true)
    }

    /// Take an entry of more than 15 bytes; what was compared with it, in bytes.
    fn take_long(&self, long: &mut LongWords, id: TokenId) -> Result<u64, Error> {
        let bytes = self.token(id);
        let (word, bit) = long_place(bytes);
        if let Some(bits) = long.ends.get_mut(word) {
            *bits |= 1 << bit;
        }
        let hash = hash_of(bytes);
        let mut compared = 0;
        for place in probe(hash, long.places.len()) {
            match long.places.get_mut(place) {
                Some(free @ &mut FREE) => {
                    *free = tag(hash) | id.get();
                    break;
                }
                Some(&mut earlier) if self.is_at(earlier, hash, bytes) => {
                    return Err(duplicate(id.get(), earlier & layout::MAX_ID));
                }
                _ => compared += bytes.len() as u64 + 1,
            }
        }
        Ok(compared)
    }

    /// Whether the entry that a place of the hash table holds has these bytes, whose hash this is.
    fn is_at(&self, place: u32, hash: u64, bytes: &[u8]) -> bool {
        place & !layout::MAX_ID == tag(hash) && self.token(TokenId::new(place & layout::MAX_ID)) == bytes
    }

    /// The id of an entry among ids in the order of their bytes.
    fn search(&self, ids: &[u32], bytes: &[u8]) -> Option<TokenId> {
        let place = ids.binary_search_by_key(&bytes, |&id| self.token(TokenId::new(id))).ok()?;
        ids.get(place).copied().map(TokenId::new)
    }

    /// All ids in the order of their bytes. It compares each byte of the section O(log n) times, whatever the entries.
    fn sorted(&self) -> Result<Vec<u32>, Error> {
        let mut by_bytes: Vec<u32> = (0..self.count).collect();
        by_bytes.sort_unstable_by_key(|&id| (self.token(TokenId::new(id)), id));
        let equal = by_bytes.windows(2).filter_map(|pair| match *pair {
            [earlier, id] if self.token(TokenId::new(earlier)) == self.token(TokenId::new(id)) => Some((id, earlier)),
            _ => None,
        });
        // Equal entries stand in the order of their ids, so that the pair with the lowest id has the earliest before it.
        match equal.min() {
            Some((id, earlier)) => Err(duplicate(id, earlier)),
            None => Ok(by_bytes),
        }
    }
}

/// The places of a table of `size` places, a power of two, at which an entry may stand, in the order in which they are tried.
#[inline]
fn probe(hash: u64, size: usize) -> impl Iterator<Item = usize> {
    let first = usize::try_from(hash >> 32).unwrap_or(0);
    (0..size).map(move |step| first.wrapping_add(step) & (size - 1))
}

/// What a place has of a hash above the 21 bits of the id, so that most other entries are passed over unread.
#[allow(clippy::cast_possible_truncation)]
const fn tag(hash: u64) -> u32 {
    (hash >> 11) as u32 & !layout::MAX_ID
}

/// Where the length and the last bytes of a long entry are noted: word and bit.
fn long_place(bytes: &[u8]) -> (usize, u32) {
    let last = bytes.last_chunk::<8>().map_or(0, |last| u64::from_le_bytes(*last));
    let hash = (last ^ (bytes.len() as u64).rotate_right(16)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - LONG_BITS);
    (usize::try_from(hash / 64).unwrap_or(0), u32::try_from(hash % 64).unwrap_or(0))
}

fn duplicate(id: u32, earlier: u32) -> Error {
    Error::new(ErrorCode::ArtifactVocabularyDuplicate, [("id", id.into()), ("earlier", earlier.into())])
}

impl VocabularyIndex {
    /// The token that has exactly these bytes.
    pub(crate) fn find(&self, vocabulary: &Vocabulary<'_>, bytes: &[u8]) -> Option<TokenId> {
        match (&self.by_bytes, Key::new(bytes, bytes.len())) {
            (ByBytes::Hashed(words, _), Some(key)) => words.find(key, key.hash()),
            (ByBytes::Hashed(_, LongWords { places, ends }), None) => {
                let (word, bit) = long_place(bytes);
                ends.get(word).filter(|bits| *bits >> bit & 1 == 1)?;
                let hash = hash_of(bytes);
                let entries = probe(hash, places.len()).map_while(|place| places.get(place).copied());
                let mut entries = entries.take_while(|&entry| entry != FREE);
                let found = entries.find(|&entry| vocabulary.is_at(entry, hash, bytes))?;
                Some(TokenId::new(found & layout::MAX_ID))
            }
            (ByBytes::Sorted(ids), _) => vocabulary.search(ids, bytes),
        }
    }

    /// The token with the bytes of a key that has this hash.
    #[inline]
    pub(crate) fn find_short(&self, vocabulary: &Vocabulary<'_>, key: Key, hash: u64) -> Option<TokenId> {
        match &self.by_bytes {
            ByBytes::Hashed(words, _) => words.find(key, hash),
            ByBytes::Sorted(ids) => {
                let (bytes, length) = key.bytes();
                vocabulary.search(ids, bytes.get(..length)?)
            }
        }
    }

    /// Say that [`Self::find_short`] will be asked for a key with this hash.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        if let ByBytes::Hashed(words, _) = &self.by_bytes {
            words.prefetch(hash);
        }
    }
}

fn length_error(section: &[u8], expected: u64) -> Error {
    let fields = [("found", section.len().into()), ("expected", expected.into())];
    Error::new(ErrorCode::ArtifactVocabularyLength, fields)
}

fn count_error(found: u32, expected: u32) -> Error {
    let fields = [("found", found.into()), ("expected", expected.into())];
    Error::new(ErrorCode::ArtifactVocabularyCount, fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::Artifact;

    #[test]
    fn both_indexes_find_every_token_and_no_other() {
        let data = std::fs::read("../../src/slm2/data/qwen3-0.6b.slm2").expect("the embedded artifact is there");
        let artifact = Artifact::from_bytes(data).expect("it opens");
        let vocabulary = artifact.vocabulary();
        let hashed = artifact.vocabulary_index();
        assert!(matches!(hashed.by_bytes, ByBytes::Hashed(..)));
        let by_bytes = ByBytes::Sorted(vocabulary.sorted().expect("no two are equal"));
        let sorted = VocabularyIndex { of_byte: hashed.of_byte, by_bytes };
        for id in vocabulary.ids() {
            let bytes = vocabulary.token(id);
            assert_eq!((hashed.find(&vocabulary, bytes), sorted.find(&vocabulary, bytes)), (Some(id), Some(id)));
            for other in [[bytes, b"\0"].concat(), bytes[..bytes.len() - 1].to_vec()] {
                let expected = sorted.find(&vocabulary, &other);
                assert_eq!(hashed.find(&vocabulary, &other), expected);
                if let Some(key) = Key::new(&other, other.len()) {
                    assert_eq!(
                        [hashed, &sorted].map(|index| index.find_short(&vocabulary, key, key.hash())),
                        [expected; 2]
                    );
                }
            }
        }
    }
}
