//! Section 0x30: merges as a double array keyed by the pair of ids.

use alloc::vec;
use alloc::vec::Vec;

use super::container::check_padding;
use super::layout::{self, align, part, size, u32_at, u32_from, u64_at};
use super::vocabulary::Vocabulary;
use crate::error::{Error, Value};
use crate::error_code::ErrorCode;
use crate::ids::TokenId;

const HEAD: u64 = 20;
const MAX_SLOTS: u32 = 1 << 22;
const MAX_ROW_BITS: u32 = 21;
const MAX_SEED: u32 = (1 << 22) - 1;
/// In place of the first id: the ids are listed.
const LISTED: u32 = u32::MAX;
const USED: u64 = 1 << 63;
/// In place of a rank, and greater than any: the two do not merge.
pub(crate) const NO_RANK: u32 = u32::MAX;
/// Bits of a slot for an id or a rank.
const FIELD: u64 = (1 << 21) - 1;

/// The section, opened.
#[derive(Clone, Copy)]
pub(crate) struct Merges<'a> {
    count: u32,
    slot_count: u32,
    row_bits: u32,
    seed: u32,
    first_id: u32,
    bases: &'a [u8],
    slots: &'a [u8],
    ids: &'a [u8],
}

/// A used slot, all its numbers as they stand there.
pub(crate) struct Slot {
    pub(crate) left: u32,
    pub(crate) right: u32,
    pub(crate) rank: u32,
}

impl Slot {
    /// What a slot says; `None` if it is empty or not marked as used.
    pub(crate) fn read(slot: u64) -> Option<Self> {
        (slot & USED != 0).then_some(Self { left: field(slot, 0), right: field(slot, 21), rank: field(slot, 42) })
    }
}

impl<'a> Merges<'a> {
    /// The section as its counts part it.
    pub(crate) fn over(section: &'a [u8]) -> Self {
        let [count, slot_count, row_bits, seed, first_id] =
            [0, 4, 8, 12, 16].map(|at| u32_from(section, at).unwrap_or(0));
        let head = HEAD + (4 << row_bits.min(MAX_ROW_BITS));
        let table = align(head, 8);
        let end = table + 8 * u64::from(slot_count);
        Self {
            count,
            slot_count,
            row_bits,
            seed,
            first_id,
            bases: part(section, HEAD, head),
            slots: part(section, table, end),
            ids: part(section, end, size(section)),
        }
    }

    /// Step 7 of the order of checks; the used slots in rank order come with it. `data[start..end]` is the section.
    #[inline(never)]
    pub(crate) fn check(
        data: &'a [u8],
        start: u64,
        end: u64,
        vocabulary: &Vocabulary<'_>,
    ) -> Result<(Self, Vec<u64>), Error> {
        let section = part(data, start, end);
        if size(section) < HEAD {
            return Err(length_error(section, HEAD));
        }
        let merges = Self::over(section);
        merges.check_counts()?;
        let head = HEAD + (4 << merges.row_bits);
        let listed = if merges.first_id == LISTED { 4 * u64::from(merges.count) } else { 0 };
        let expected = align(head, 8) + 8 * u64::from(merges.slot_count) + listed;
        if size(section) != expected {
            return Err(length_error(section, expected));
        }
        check_padding(data, start + head, start + align(head, 8))?;
        let by_rank = merges.check_slots(vocabulary)?;
        Ok((merges, by_rank))
    }

    fn check_counts(&self) -> Result<(), Error> {
        let Self { count, slot_count, row_bits, seed, .. } = *self;
        let slots_fit = (count.max(1)..=MAX_SLOTS).contains(&slot_count);
        if count <= layout::MAX_ID && slots_fit && row_bits <= MAX_ROW_BITS && seed <= MAX_SEED {
            return Ok(());
        }
        let fields = [
            ("merges", count.into()),
            ("slots", slot_count.into()),
            ("row_bits", row_bits.into()),
            ("seed", seed.into()),
        ];
        Err(Error::new(ErrorCode::ArtifactMergesCount, fields))
    }

    /// The rank of the merge of two neighbours; the lowest goes first. `NO_RANK` where they do not merge.
    #[inline]
    pub(crate) fn rank(&self, left: TokenId, right: TokenId) -> u32 {
        let (_, place) = self.place(left.get(), right.get());
        let slot = u64_at(self.slots, place).unwrap_or(0);
        let pair = USED | u64::from(right.get()) << 21 | u64::from(left.get());
        let differs = (slot ^ pair) & !(FIELD << 42) != 0;
        // All bits are set where the slot is of another pair. No branch: whether two neighbours merge, nothing predicts, and the
        // look-ups of both sides are to overlap.
        field(slot, 42) | u32::from(differs).wrapping_neg()
    }

    /// The id that the merge of a rank makes.
    pub(crate) fn merged(&self, rank: u32) -> Option<u32> {
        if self.first_id == LISTED { u32_at(self.ids, rank as usize) } else { self.first_id.checked_add(rank) }
    }

    /// Row and slot of a pair (contract/artifact.md, row and column). Arithmetic is modulo 2^64 by the format.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // a row has at most 21 bits, and a slot is below 2^22
    fn place(&self, left: u32, right: u32) -> (usize, usize) {
        let key = (u64::from(left) << 21 | u64::from(right)).wrapping_add(u64::from(self.seed) << 42);
        let x = key.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let x = (x ^ x >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        // 1 to 21 bits, or none, where all pairs have row 0.
        let row = (x >> 1 >> (63 - self.row_bits)) as u32 as usize;
        let slots = u64::from(self.slot_count);
        let column = ((x & 0xFFFF_FFFF) * slots) >> 32;
        // Both parts are below slot_count.
        let sum = u64::from(u32_at(self.bases, row).unwrap_or(0)) + column;
        (row, if sum < slots { sum } else { sum - slots } as usize)
    }

    /// Each slot is its pair's and makes the id of its two parts, and each rank occurs once.
    fn check_slots(&self, vocabulary: &Vocabulary<'_>) -> Result<Vec<u64>, Error> {
        let rows = 1_u32 << self.row_bits;
        let bases = || (0..rows).map(|row| (row, u32_at(self.bases, row as usize).unwrap_or(0)));
        if let Some((row, _)) = bases().find(|&(_, base)| base >= self.slot_count) {
            return Err(error(ErrorCode::ArtifactMergesBase, "row", row));
        }
        self.check_ids(vocabulary)?;
        // The bytes by rank, since what merges make lies in that order; where anything is wrong, slot by slot, to find what is first.
        if let Ok(by_rank) = self.place_slots(vocabulary, |_| true) {
            let mut slots = by_rank.iter().filter_map(|&slot| Slot::read(slot));
            if slots.all(|slot| self.adds_up(&slot, vocabulary)) {
                return Ok(by_rank);
            }
        }
        self.place_slots(vocabulary, |slot| self.adds_up(slot, vocabulary))
    }

    /// The used slots in rank order, checked slot by slot.
    fn place_slots(&self, vocabulary: &Vocabulary<'_>, adds_up: impl Fn(&Slot) -> bool) -> Result<Vec<u64>, Error> {
        let rows = 1_u32 << self.row_bits;
        let mut by_rank = vec![0; self.count as usize];
        let mut is_used = vec![false; rows as usize];
        let slots = (0..self.slot_count).map(|index| (index, u64_at(self.slots, index as usize).unwrap_or(0)));
        for (index, word) in slots.filter(|(_, word)| *word != 0) {
            let (slot, row) = self.check_slot(index, word, vocabulary)?;
            match by_rank.get_mut(slot.rank as usize) {
                Some(place @ &mut 0) => *place = word,
                _ => return Err(error(ErrorCode::ArtifactMergesRank, "rank", slot.rank)),
            }
            if !adds_up(&slot) {
                return Err(error(ErrorCode::ArtifactMergesBytes, "rank", slot.rank));
            }
            if let Some(mark) = is_used.get_mut(row) {
                *mark = true;
            }
        }
        if let Some(rank) = by_rank.iter().position(|&slot| slot == 0) {
            return Err(error(ErrorCode::ArtifactMergesRank, "rank", rank));
        }
        let bases = (0..rows).zip(&is_used).filter(|(_, is_used)| !**is_used);
        if let Some((row, _)) = bases.into_iter().find(|&(row, _)| u32_at(self.bases, row as usize) != Some(0)) {
            return Err(error(ErrorCode::ArtifactMergesBase, "row", row));
        }
        Ok(by_rank)
    }

    /// Whether a merge makes the bytes of its two parts.
    fn adds_up(&self, slot: &Slot, vocabulary: &Vocabulary<'_>) -> bool {
        let ids = [slot.left, slot.right, self.merged(slot.rank).unwrap_or(0)].map(TokenId::new);
        // Nearly all are short enough to be compared as numbers.
        if let [Some(left), Some(right), Some(whole)] = ids.map(|id| vocabulary.key(id)) {
            return left.then(right) == Some(whole);
        }
        let [left, right, whole] = ids.map(|id| vocabulary.token(id));
        whole.strip_prefix(left) == Some(right)
    }

    /// The ids that merges make are plain, and listed only where they are not consecutive.
    fn check_ids(&self, vocabulary: &Vocabulary<'_>) -> Result<(), Error> {
        let is_plain = |rank: &u32| self.merged(*rank).is_some_and(|id| id < vocabulary.count);
        if let Some(rank) = (0..self.count).find(|rank| !is_plain(rank)) {
            return Err(error(ErrorCode::ArtifactMergesIds, "rank", rank));
        }
        let follows = |rank: u32| self.merged(rank) == self.merged(0).and_then(|first| first.checked_add(rank));
        let is_sparing = match self.first_id {
            LISTED => !(0..self.count).all(follows),
            first => self.count > 0 || first == 0,
        };
        if is_sparing { Ok(()) } else { Err(error(ErrorCode::ArtifactMergesIds, "rank", self.count)) }
    }

    /// A used slot that is as it must be, and its row.
    fn check_slot(&self, index: u32, word: u64, vocabulary: &Vocabulary<'_>) -> Result<(Slot, usize), Error> {
        let known = |slot: &Slot| slot.left.max(slot.right) < vocabulary.count && slot.rank < self.count;
        let placed = |slot: Slot| {
            let (row, place) = self.place(slot.left, slot.right);
            (place == index as usize).then_some((slot, row))
        };
        let slot = Slot::read(word).filter(known).and_then(placed);
        slot.ok_or_else(|| error(ErrorCode::ArtifactMergesSlot, "slot", index))
    }
}

/// The 21 bits of a slot from `shift` on.
#[allow(clippy::cast_possible_truncation)]
const fn field(slot: u64, shift: u32) -> u32 {
    (slot >> shift & FIELD) as u32
}

fn error(code: ErrorCode, field: &'static str, value: impl Into<Value>) -> Error {
    Error::new(code, [(field, value.into())])
}

fn length_error(section: &[u8], expected: u64) -> Error {
    let fields = [("found", section.len().into()), ("expected", expected.into())];
    Error::new(ErrorCode::ArtifactMergesLength, fields)
}
