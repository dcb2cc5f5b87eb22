//! contract/normalization.md, done step by step.

use std::collections::{BTreeMap, BTreeSet};

use crate::definition::u32_at;

const SYLLABLES: u32 = 0xAC00;
const LEADS: u32 = 0x1100;
const VOWELS: u32 = 0x1161;
const TAILS: u32 = 0x11A7;

/// The tables of section 0x50.
pub(crate) struct Tables {
    classes: BTreeMap<u32, u32>,
    decompositions: BTreeMap<u32, Vec<u32>>,
    compositions: BTreeMap<(u32, u32), u32>,
    seconds: BTreeSet<u32>,
    composites: BTreeSet<u32>,
}

/// A scalar value of the normalised text, or ill-formed bytes, with the source range.
pub(crate) struct Normalized {
    pub(crate) bytes: Vec<u8>,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Whether the bytes are those of the range.
    pub(crate) unchanged: bool,
}

impl Normalized {
    pub(crate) fn range_of_each_byte(&self) -> Vec<(usize, usize)> {
        let range = |at| if self.unchanged { (self.start + at, self.start + at + 1) } else { (self.start, self.end) };
        (0..self.bytes.len()).map(range).collect()
    }
}

#[derive(Clone, Copy)]
struct Scalar {
    value: u32,
    class: u32,
    start: usize,
    end: usize,
}

impl Tables {
    pub(crate) fn of(section: &[u8]) -> Self {
        let [runs, decompositions, compositions] = [0, 4, 8].map(|at| u32_at(section, at) as usize);
        let words: Vec<u32> = (3..section.len() / 4).map(|word| u32_at(section, 4 * word)).collect();
        let (class_words, words) = words.split_at(3 * runs);
        let (decomposition_words, words) = words.split_at(6 * decompositions);
        let triples = || words[..3 * compositions].chunks_exact(3);
        Self {
            classes: class_words
                .chunks_exact(3)
                .flat_map(|run| (run[0]..=run[1]).map(|scalar| (scalar, run[2])))
                .collect(),
            decompositions: decomposition_words
                .chunks_exact(6)
                .map(|entry| (entry[0], entry[2..2 + entry[1] as usize].to_vec()))
                .collect(),
            compositions: triples().map(|triple| ((triple[0], triple[1]), triple[2])).collect(),
            seconds: triples().map(|triple| triple[1]).collect(),
            composites: triples().map(|triple| triple[2]).collect(),
        }
    }

    /// NFC of each well-formed stretch; ill-formed bytes stay, and part the stretches.
    pub(crate) fn normalize(&self, text: &[u8]) -> Vec<Normalized> {
        let (mut result, mut at) = (Vec::new(), 0);
        for chunk in text.utf8_chunks() {
            result.extend(self.normalize_stretch(chunk.valid(), at, text));
            at += chunk.valid().len();
            for &byte in chunk.invalid() {
                result.push(Normalized { bytes: vec![byte], start: at, end: at + 1, unchanged: true });
                at += 1;
            }
        }
        result
    }

    fn normalize_stretch(&self, stretch: &str, base: usize, text: &[u8]) -> Vec<Normalized> {
        let mut scalars = Vec::new();
        for (at, scalar) in stretch.char_indices() {
            let (start, end) = (base + at, base + at + scalar.len_utf8());
            for value in self.decompose(scalar.into()) {
                scalars.push(Scalar { value, class: self.class(value), start, end });
            }
        }
        for marks in scalars.split_mut(|scalar| scalar.class == 0) {
            marks.sort_by_key(|mark| mark.class);
        }
        let written = |scalar: Scalar| {
            let bytes = char::from_u32(scalar.value).expect("a scalar value").to_string().into_bytes();
            let unchanged = bytes == text[scalar.start..scalar.end];
            Normalized { bytes, start: scalar.start, end: scalar.end, unchanged }
        };
        self.compose(&scalars).into_iter().map(written).collect()
    }

    fn compose(&self, scalars: &[Scalar]) -> Vec<Scalar> {
        let mut kept: Vec<Scalar> = Vec::new();
        let mut starter = None;
        for &scalar in scalars {
            if let Some(at) = starter {
                // Nothing between the two, or what was kept last has a lesser class.
                let free = at + 1 == kept.len() || kept[kept.len() - 1].class < scalar.class;
                let first: Scalar = kept[at];
                if let Some(composite) = self.composite(first.value, scalar.value).filter(|_| free) {
                    kept[at] = Scalar {
                        value: composite,
                        class: 0,
                        start: first.start.min(scalar.start),
                        end: first.end.max(scalar.end),
                    };
                    continue;
                }
            }
            if scalar.class == 0 {
                starter = Some(kept.len());
            }
            kept.push(scalar);
        }
        kept
    }

    fn class(&self, value: u32) -> u32 {
        self.classes.get(&value).copied().unwrap_or(0)
    }

    fn decompose(&self, value: u32) -> Vec<u32> {
        let Some(index) = within(value, SYLLABLES, 11_172) else {
            return self.decompositions.get(&value).cloned().unwrap_or(vec![value]);
        };
        let mut parts = vec![LEADS + index / 588, VOWELS + index % 588 / 28, TAILS + index % 28];
        parts.truncate(if index % 28 == 0 { 2 } else { 3 });
        parts
    }

    fn composite(&self, first: u32, second: u32) -> Option<u32> {
        if let (Some(lead), Some(vowel)) = (within(first, LEADS, 19), within(second, VOWELS, 21)) {
            return Some(SYLLABLES + (lead * 21 + vowel) * 28);
        }
        if let (Some(index), Some(tail)) = (within(first, SYLLABLES, 11_172), within(second, TAILS, 28)) {
            if index % 28 == 0 && tail > 0 {
                return Some(first + tail);
            }
        }
        self.compositions.get(&(first, second)).copied()
    }

    /// Whether what comes before a scalar value and what comes from it on can be normalised apart.
    fn parts(&self, value: u32) -> bool {
        let drawn_in = self.class(value) > 0
            || self.seconds.contains(&value)
            || within(value, VOWELS, 21).is_some()
            || within(value, TAILS, 28).is_some_and(|tail| tail > 0);
        let decomposes = self.decompositions.contains_key(&value);
        let stays_apart = decomposes && !self.composites.contains(&value);
        let first = self.decompose(value)[0];
        !drawn_in && !stays_apart && (first == value || self.parts(first))
    }

    /// Where the first stretch of more than `limit` bytes begins, counted to the last scalar value that does not part it.
    pub(crate) fn too_long_stretch(&self, text: &[u8], limit: usize) -> Option<usize> {
        let (mut at, mut stretch) = (0, 0);
        for chunk in text.utf8_chunks() {
            for (offset, scalar) in chunk.valid().char_indices() {
                if self.parts(scalar.into()) {
                    stretch = at + offset;
                } else if at + offset - stretch > limit {
                    return Some(stretch);
                }
            }
            at += chunk.valid().len() + chunk.invalid().len();
            if !chunk.invalid().is_empty() {
                stretch = at;
            }
        }
        None
    }
}

fn within(value: u32, base: u32, count: u32) -> Option<u32> {
    value.checked_sub(base).filter(|&index| index < count)
}
