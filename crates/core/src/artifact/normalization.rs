//! Section 0x50: the tables of canonical normalisation.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::layout::{lower_bound, part, size, u32_at, u32_from};
use crate::character_set::{Character, CharacterSet};
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
const HANGUL_LEADS: core::ops::RangeInclusive<u32> = 0x1100..=0x1112;

/// The section, opened. Scalar values are u32 as they stand there.
#[derive(Clone, Copy)]
pub(crate) struct Normalization<'a> {
    runs: &'a [u8],
    decompositions: &'a [u8],
    compositions: &'a [u8],
}

/// What the tables say about scalar values one by one, in pages of 256; most share the page of those about which nothing is said.
pub(crate) struct NormalizationIndex {
    page_of: Vec<u16>,
    traits: Vec<ScalarTraits>,
    /// The characters of two and three bytes that part the text.
    parting: Box<CharacterSet>,
    /// Whether all of ASCII parts the text, as it does but in tables that somebody made up.
    ascii_parts: bool,
}

/// What normalisation may do to a scalar value.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ScalarTraits(u16);

impl ScalarTraits {
    const MAY_CHANGE: u16 = 1 << 8;
    const DECOMPOSES: u16 = 1 << 9;

    /// The canonical combining class.
    pub(crate) const fn class(self) -> u8 {
        self.0.to_le_bytes()[0]
    }

    /// Whether it may be changed though the order of classes is kept: it is drawn into another or begins with such a one, or does
    /// not come back from its decomposition.
    pub(crate) const fn may_change(self) -> bool {
        self.0 & Self::MAY_CHANGE != 0
    }

    /// Whether the table of decompositions has it.
    pub(crate) const fn decomposes(self) -> bool {
        self.0 & Self::DECOMPOSES != 0
    }

    /// Whether it *parts* the text: what comes before it and what comes from it on can be normalised apart.
    pub(crate) const fn parts(self) -> bool {
        self.class() == 0 && !self.may_change()
    }
}

/// Scalar values of a page.
const PAGE: u32 = 256;

impl NormalizationIndex {
    fn new() -> Self {
        let pages = 0x11_0000 / PAGE;
        let traits = vec![ScalarTraits::default(); PAGE as usize];
        Self { page_of: vec![0; pages as usize], traits, parting: CharacterSet::filled(true), ascii_parts: true }
    }

    /// Note which scalar values do not part the text.
    fn note_parting(&mut self) {
        self.ascii_parts = (0..0x80).all(|scalar| self.traits(scalar).parts());
        for (first, &page) in (0..0x1_0000).step_by(PAGE as usize).zip(&self.page_of) {
            let traits = self.traits.iter().skip(usize::from(page) * PAGE as usize);
            // The first page is that of those about which nothing is said.
            for (scalar, _) in (first..first + PAGE).zip(traits).filter(|(_, traits)| page > 0 && !traits.parts()) {
                self.parting.remove(scalar);
            }
        }
    }

    /// Whether a text is its own NFC for sure, with no stretch of more than `limit` bytes that do not part it.
    pub(crate) fn is_stable(&self, text: &[u8], limit: usize) -> bool {
        if self.ascii_parts && text.is_ascii() {
            return true;
        }
        // Where the stretch at hand begins and how far it was looked through: behind it, all parts the text or is ill formed.
        let (mut stretch, mut end, mut last_class) = (0, 0, 0);
        let mut at = self.end_of_parting(text, 0);
        while at < text.len() {
            let Some(scalar) = first_scalar(text.get(at..).unwrap_or_default()) else {
                at = self.end_of_parting(text, at + 1);
                continue;
            };
            let traits = self.traits(scalar.into());
            if at != end {
                // What was skipped last parts the text, and is part of the stretch: its length counts with at most four bytes.
                (stretch, last_class) = (at.saturating_sub(4), 0);
            }
            if traits.parts() {
                (stretch, last_class) = (at, 0);
            } else if traits.class() < last_class || traits.may_change() || at - stretch > limit {
                return false;
            } else {
                last_class = traits.class();
            }
            at += scalar.len_utf8();
            end = at;
            at = self.end_of_parting(text, at);
        }
        true
    }

    /// Where characters end, from a place on, that are known to part the text without a look at what is said about each.
    #[inline]
    fn end_of_parting(&self, text: &[u8], mut at: usize) -> usize {
        let parts = |character: &Character| self.parting.has(*character);
        while let Some(&byte) = text.get(at) {
            let rest = text.get(at..).unwrap_or_default();
            if !byte.is_ascii() {
                let Some(character) = Character::first(rest).filter(parts) else { break };
                at += character.length;
            } else if self.ascii_parts {
                at += slm2_simd::leading_ascii(rest);
            } else {
                break;
            }
        }
        at
    }

    /// What is said about a scalar value.
    #[inline]
    pub(crate) fn traits(&self, scalar: u32) -> ScalarTraits {
        let page = self.page_of.get((scalar / PAGE) as usize).copied().unwrap_or(0);
        self.traits.get(usize::from(page) * PAGE as usize + (scalar % PAGE) as usize).copied().unwrap_or_default()
    }

    fn change(&mut self, scalar: u32, change: impl FnOnce(u16) -> u16) {
        let Some(page) = self.page_of.get_mut((scalar / PAGE) as usize) else { return };
        if *page == 0 {
            // At most 4,352 pages.
            *page = u16::try_from(self.traits.len() / PAGE as usize).unwrap_or(0);
            self.traits.resize(self.traits.len() + PAGE as usize, ScalarTraits::default());
        }
        let place = usize::from(*page) * PAGE as usize + (scalar % PAGE) as usize;
        if let Some(traits) = self.traits.get_mut(place) {
            traits.0 = change(traits.0);
        }
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
    #[inline(never)]
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
    #[inline(never)]
    pub(crate) fn index(&self) -> NormalizationIndex {
        let mut index = NormalizationIndex::new();
        let may_change = |traits| traits | ScalarTraits::MAY_CHANGE;
        for [first, last, class] in (0..self.run_count()).filter_map(|at| self.run(at)) {
            let class = u16::try_from(class).unwrap_or(0);
            (first..=last).for_each(|scalar| index.change(scalar, |traits| traits | class));
        }
        for (scalar, _) in (0..self.decomposition_count()).filter_map(|at| self.decomposition_at(at)) {
            index.change(scalar, |traits| may_change(traits) | ScalarTraits::DECOMPOSES);
        }
        let compositions = || (0..self.composition_count()).filter_map(|at| self.composition(at));
        // A primary composite comes back from its decomposition.
        for [_, _, composite] in compositions() {
            index.change(composite, |traits| traits & !ScalarTraits::MAY_CHANGE);
        }
        for [_, second, _] in compositions() {
            index.change(second, may_change);
        }
        // The vowels and the trailing consonants of Hangul.
        (0x1161..=0x1175).chain(0x11A8..=0x11C2).for_each(|scalar| index.change(scalar, may_change));
        // What begins with a scalar value that is drawn into another, or with a mark, is not parted from what comes before.
        for (scalar, whole) in (0..self.decomposition_count()).filter_map(|at| self.decomposition_at(at)) {
            if whole.parts().next().is_some_and(|first| !index.traits(first).parts()) {
                index.change(scalar, may_change);
            }
        }
        if HANGUL_LEADS.clone().any(|lead| !index.traits(lead).parts()) {
            SYLLABLES.for_each(|syllable| index.change(syllable, may_change));
        }
        index.note_parting();
        index
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

/// The well-formed scalar value at the beginning of a text.
fn first_scalar(text: &[u8]) -> Option<char> {
    match text.first_chunk() {
        Some(&[lead @ 0xC2..=0xDF, tail @ 0x80..=0xBF, _]) => {
            return char::from_u32(u32::from(lead & 0x1F) << 6 | u32::from(tail & 0x3F));
        }
        // Not below U+0800, which is shorter, and no surrogate.
        Some(&[0xE0, second @ 0xA0..=0xBF, third @ 0x80..=0xBF]) => return three(0xE0, second, third),
        Some(&[lead @ (0xE1..=0xEC | 0xEE..=0xEF), second @ 0x80..=0xBF, third @ 0x80..=0xBF]) => {
            return three(lead, second, third);
        }
        _ => {}
    }
    let head = text.get(..text.len().min(4))?;
    match core::str::from_utf8(head) {
        Ok(head) => head.chars().next(),
        Err(error) => core::str::from_utf8(head.get(..error.valid_up_to())?).ok()?.chars().next(),
    }
}

/// The scalar value of three bytes.
#[inline]
fn three(lead: u8, second: u8, third: u8) -> Option<char> {
    char::from_u32(u32::from(lead & 0xF) << 12 | u32::from(second & 0x3F) << 6 | u32::from(third & 0x3F))
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
