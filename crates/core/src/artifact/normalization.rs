//! Section 0x50: the tables of canonical normalisation.

use alloc::vec;
use alloc::vec::Vec;

use super::layout::{lower_bound, part, size, u32_at, u32_from};
use crate::error::Error;
use crate::error_code::ErrorCode;

const MAX_COUNT: u32 = 65_535;
const MAX_CLASS: u32 = 254;
const HEAD_SIZE: u64 = 12;
/// Of entries, in bytes.
const RUN_SIZE: u32 = 12;
const DECOMPOSITION_SIZE: u32 = 24;
const COMPOSITION_SIZE: u32 = 12;
/// Hangul syllables: arithmetic, never in the tables.
const SYLLABLES: core::ops::RangeInclusive<u32> = 0xAC00..=0xD7A3;

/// The section, opened. Scalar values are u32 as they stand there.
#[derive(Clone, Copy)]
pub(crate) struct Normalization<'a> {
    runs: &'a [u8],
    decompositions: &'a [u8],
    compositions: &'a [u8],
}

/// What the tables say about scalar values one by one.
pub(crate) struct NormalizationIndex {
    /// Below it no scalar value has a class, has a decomposition or is second in a composition.
    pub(crate) lowest: u32,
    /// Those that are second in a composition, sorted.
    pub(crate) seconds: Vec<u32>,
    /// A bit for each scalar value that a text may have and not be its own NFC.
    unstable: Vec<u64>,
    /// The lowest of them.
    lowest_unstable: u32,
}

impl NormalizationIndex {
    /// Whether a text is its own NFC for sure: it has no scalar value with a class, none that another is drawn from, and none
    /// that does not come back from its decomposition.
    pub(crate) fn is_stable(&self, text: &[u8]) -> bool {
        text.is_ascii()
            || text.utf8_chunks().all(|chunk| chunk.valid().chars().all(|scalar| !self.is_unstable(scalar.into())))
    }

    fn is_unstable(&self, scalar: u32) -> bool {
        let bit = |word: &u64| word >> (scalar % 64) & 1 == 1;
        scalar >= self.lowest_unstable && self.unstable.get(scalar as usize / 64).is_none_or(bit)
    }
}

/// A full canonical decomposition: 1 to 4 scalar values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decomposition {
    length: u32,
    parts: [u32; 4],
}

impl Decomposition {
    /// Of a scalar value without one: itself.
    pub(crate) const fn of_itself(scalar: u32) -> Self {
        Self { length: 1, parts: [scalar, 0, 0, 0] }
    }

    /// Of a Hangul syllable.
    pub(crate) const fn of_syllable(lead: u32, vowel: u32, tail: Option<u32>) -> Self {
        match tail {
            Some(tail) => Self { length: 3, parts: [lead, vowel, tail, 0] },
            None => Self { length: 2, parts: [lead, vowel, 0, 0] },
        }
    }

    pub(crate) fn parts(&self) -> impl Iterator<Item = u32> + '_ {
        self.parts.iter().copied().zip(0..self.length).map(|(part, _)| part)
    }
}

impl<'a> Normalization<'a> {
    /// The section as its counts part it.
    pub(crate) fn over(section: &'a [u8]) -> Self {
        let count = |index| u64::from(u32_at(section, index).unwrap_or(0));
        let decompositions_at = HEAD_SIZE + u64::from(RUN_SIZE) * count(0);
        let compositions_at = decompositions_at + u64::from(DECOMPOSITION_SIZE) * count(1);
        Self {
            runs: part(section, HEAD_SIZE, decompositions_at),
            decompositions: part(section, decompositions_at, compositions_at),
            compositions: part(section, compositions_at, compositions_at + u64::from(COMPOSITION_SIZE) * count(2)),
        }
    }

    /// Step 8 of the order of checks.
    pub(crate) fn check(section: &'a [u8]) -> Result<Self, Error> {
        let counts = [0, 4, 8].map(|offset| u32_from(section, offset));
        let [Some(runs), Some(decompositions), Some(compositions)] = counts else {
            return Err(length_error(section, HEAD_SIZE));
        };
        if runs.max(decompositions).max(compositions) > MAX_COUNT {
            return Err(length_error(section, 0));
        }
        let expected = HEAD_SIZE
            + u64::from(RUN_SIZE) * u64::from(runs)
            + u64::from(DECOMPOSITION_SIZE) * u64::from(decompositions)
            + u64::from(COMPOSITION_SIZE) * u64::from(compositions);
        if size(section) != expected {
            return Err(length_error(section, expected));
        }
        let tables = Self::over(section);
        tables.check_classes()?;
        tables.check_decompositions()?;
        tables.check_compositions()?;
        Ok(tables)
    }

    /// The canonical combining class of a scalar value.
    pub(crate) fn class(&self, scalar: u32) -> u8 {
        let index = lower_bound(self.run_count(), |index| self.run(index).is_none_or(|[_, last, _]| scalar <= last));
        match self.run(index) {
            Some([first, _, class]) if first <= scalar => u8::try_from(class).unwrap_or(0),
            _ => 0,
        }
    }

    /// The entry of a scalar value in the decompositions.
    pub(crate) fn decomposition(&self, scalar: u32) -> Option<Decomposition> {
        let count = self.decomposition_count();
        let index = lower_bound(count, |index| self.decomposition_at(index).is_none_or(|(other, _)| scalar <= other));
        self.decomposition_at(index).filter(|&(other, _)| other == scalar).map(|(_, decomposition)| decomposition)
    }

    /// The primary composite of two scalar values, by the table.
    pub(crate) fn composite(&self, first: u32, second: u32) -> Option<u32> {
        let count = self.composition_count();
        let pair = (first, second);
        let index = lower_bound(count, |index| self.composition(index).is_none_or(|[a, b, _]| pair <= (a, b)));
        self.composition(index).filter(|&[a, b, _]| (a, b) == pair).map(|[_, _, composite]| composite)
    }

    /// The index of these tables.
    pub(crate) fn index(&self) -> NormalizationIndex {
        let mut seconds: Vec<u32> = (0..self.composition_count())
            .filter_map(|index| self.composition(index))
            .map(|[_, second, _]| second)
            .collect();
        seconds.sort_unstable();
        seconds.dedup();
        let first_run = self.run(0).map(|[first, _, _]| first);
        let first_decomposition = self.decomposition_at(0).map(|(scalar, _)| scalar);
        let first_second = seconds.first().copied();
        let lowest = [first_run, first_decomposition, first_second].into_iter().flatten().min().unwrap_or(u32::MAX);
        let unstable = self.unstable(&seconds);
        let lowest_unstable = unstable.iter().zip((0_u32..).step_by(64)).find(|&(&word, _)| word != 0);
        let lowest_unstable = lowest_unstable.map_or(u32::MAX, |(word, base)| base + word.trailing_zeros());
        NormalizationIndex { lowest, seconds, unstable, lowest_unstable }
    }

    /// See [`NormalizationIndex::unstable`].
    fn unstable(&self, seconds: &[u32]) -> Vec<u64> {
        let mut bits = vec![0_u64; 0x11_0000 / 64];
        let mut set = |scalar: u32, value: bool| {
            if let Some(word) = bits.get_mut(scalar as usize / 64) {
                let bit = 1 << (scalar % 64);
                *word = if value { *word | bit } else { *word & !bit };
            }
        };
        for index in 0..self.decomposition_count() {
            if let Some((scalar, _)) = self.decomposition_at(index) {
                set(scalar, true);
            }
        }
        // A primary composite comes back from its decomposition, where nothing else is drawn in.
        for [_, _, composite] in (0..self.composition_count()).filter_map(|index| self.composition(index)) {
            set(composite, false);
        }
        for [first, last, _] in (0..self.run_count()).filter_map(|index| self.run(index)) {
            (first..=last).for_each(|scalar| set(scalar, true));
        }
        for &second in seconds {
            set(second, true);
        }
        // The vowels and the trailing consonants of Hangul.
        (0x1161..=0x1175).chain(0x11A8..=0x11C2).for_each(|scalar| set(scalar, true));
        bits
    }

    fn run_count(&self) -> usize {
        self.runs.len() / RUN_SIZE as usize
    }

    fn decomposition_count(&self) -> usize {
        self.decompositions.len() / DECOMPOSITION_SIZE as usize
    }

    fn composition_count(&self) -> usize {
        self.compositions.len() / COMPOSITION_SIZE as usize
    }

    /// First, last and class of a run.
    fn run(&self, index: usize) -> Option<[u32; 3]> {
        triple(self.runs, index)
    }

    /// First, second and composite of a composition.
    fn composition(&self, index: usize) -> Option<[u32; 3]> {
        triple(self.compositions, index)
    }

    fn decomposition_at(&self, index: usize) -> Option<(u32, Decomposition)> {
        let word = |at| u32_at(self.decompositions, 6 * index + at);
        let parts = [word(2)?, word(3)?, word(4)?, word(5)?];
        Some((word(0)?, Decomposition { length: word(1)?, parts }))
    }

    /// Runs of scalar values that rise, are not empty, and could not be one with the run before.
    fn check_classes(&self) -> Result<(), Error> {
        let mut previous: Option<[u32; 3]> = None;
        for index in 0..self.run_count() {
            let Some([first, last, class]) = self.run(index) else { break };
            let placed = previous.is_none_or(|[_, before, before_class]| {
                before < first && (first - before > 1 || class != before_class)
            });
            let scalars = is_scalar(first) && is_scalar(last) && !(first < 0xD800 && last > 0xDFFF);
            if first > last || !placed || !scalars || !(1..=MAX_CLASS).contains(&class) {
                return Err(index_error(ErrorCode::ArtifactNormalizationClass, index));
            }
            previous = Some([first, last, class]);
        }
        Ok(())
    }

    /// Rising, of scalar values that are no Hangul syllables, full and in canonical order.
    fn check_decompositions(&self) -> Result<(), Error> {
        let entries = || (0..self.decomposition_count()).filter_map(|index| self.decomposition_at(index));
        // Sorted here, since whether the file has them in order is still to be seen.
        let mut decomposing: Vec<u32> = entries().map(|(scalar, _)| scalar).collect();
        decomposing.sort_unstable();
        let mut previous = None;
        for (index, (scalar, decomposition)) in entries().enumerate() {
            let placed = previous.is_none_or(|previous| previous < scalar);
            let decomposes = is_scalar(scalar) && !SYLLABLES.contains(&scalar);
            if !placed || !decomposes || !self.is_full(&decomposition, &decomposing) {
                return Err(index_error(ErrorCode::ArtifactNormalizationDecomposition, index));
            }
            previous = Some(scalar);
        }
        Ok(())
    }

    /// Whether the parts are 1 to 4 scalar values that decompose no further, and in canonical order.
    fn is_full(&self, decomposition: &Decomposition, decomposing: &[u32]) -> bool {
        let Decomposition { length, parts } = decomposition;
        let shaped = (1..=4).contains(length) && parts.iter().zip(0..).all(|(&part, at)| at < *length || part == 0);
        let mut before = 0;
        shaped
            && decomposition.parts().all(|part| {
                let class = self.class(part);
                let ordered = class == 0 || before <= class;
                before = class;
                ordered && is_scalar(part) && decomposing.binary_search(&part).is_err()
            })
    }

    /// Rising by pair; each undoes a decomposition.
    fn check_compositions(&self) -> Result<(), Error> {
        let mut previous = None;
        for (index, [first, second, composite]) in
            (0..self.composition_count()).filter_map(|index| self.composition(index)).enumerate()
        {
            let [of_first, of_second] =
                [first, second].map(|scalar| self.decomposition(scalar).unwrap_or(Decomposition::of_itself(scalar)));
            // One without a decomposition stands for itself, and one part is never two. Since all parts are scalar
            // values, first and second are too.
            let undone = self
                .decomposition(composite)
                .is_some_and(|whole| whole.parts().eq(of_first.parts().chain(of_second.parts())));
            if previous.is_some_and(|previous| previous >= (first, second)) || !undone {
                return Err(index_error(ErrorCode::ArtifactNormalizationComposition, index));
            }
            previous = Some((first, second));
        }
        Ok(())
    }
}

fn triple(table: &[u8], index: usize) -> Option<[u32; 3]> {
    Some([u32_at(table, 3 * index)?, u32_at(table, 3 * index + 1)?, u32_at(table, 3 * index + 2)?])
}

fn is_scalar(value: u32) -> bool {
    char::from_u32(value).is_some()
}

fn index_error(code: ErrorCode, index: usize) -> Error {
    Error::new(code, [("index", index.into())])
}

fn length_error(section: &[u8], expected: u64) -> Error {
    let fields = [("found", section.len().into()), ("expected", expected.into())];
    Error::new(ErrorCode::ArtifactNormalizationLength, fields)
}
