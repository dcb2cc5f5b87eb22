//! NFC with source ranges (contract/normalization.md), by the tables of the artifact and never by the host's Unicode.
//!
//! Most text is not touched. A scalar value that is a starter, does not decompose and is drawn into nothing *parts* the text:
//! what comes before it and what comes from it on can be normalised apart. Between such, and only where something else
//! stands between them, a stretch is decomposed, ordered and composed.

use alloc::vec::Vec;

use crate::artifact::{Decomposition, Normalization, NormalizationIndex};

/// Hangul, by arithmetic (Unicode Standard, section 3.12).
mod hangul {
    pub(super) const SYLLABLES: u32 = 0xAC00;
    pub(super) const LEADS: u32 = 0x1100;
    pub(super) const VOWELS: u32 = 0x1161;
    /// One before the first trailing consonant: distance 0 is none.
    pub(super) const TAILS: u32 = 0x11A7;
    pub(super) const LEAD_COUNT: u32 = 19;
    pub(super) const VOWEL_COUNT: u32 = 21;
    pub(super) const TAIL_COUNT: u32 = 28;

    /// The distance of `scalar` from `base`, if it is less than `count`.
    pub(super) fn index(scalar: u32, base: u32, count: u32) -> Option<u32> {
        scalar.checked_sub(base).filter(|&index| index < count)
    }

    pub(super) fn syllable_index(scalar: u32) -> Option<u32> {
        index(scalar, SYLLABLES, LEAD_COUNT * VOWEL_COUNT * TAIL_COUNT)
    }

    /// Whether it is drawn into what comes before it.
    pub(super) fn is_second(scalar: u32) -> bool {
        index(scalar, VOWELS, VOWEL_COUNT).is_some() || index(scalar, TAILS + 1, TAIL_COUNT - 1).is_some()
    }

    pub(super) fn compose(first: u32, second: u32) -> Option<u32> {
        if let Some(lead) = index(first, LEADS, LEAD_COUNT) {
            let vowel = index(second, VOWELS, VOWEL_COUNT)?;
            return Some(SYLLABLES + (lead * VOWEL_COUNT + vowel) * TAIL_COUNT);
        }
        let without_tail = syllable_index(first)? % TAIL_COUNT == 0;
        let tail = index(second, TAILS, TAIL_COUNT).filter(|&tail| without_tail && tail > 0)?;
        Some(first + tail)
    }
}

/// A stretch of normalised text and where it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Of the normalised text, in bytes.
    pub(crate) length: usize,
    /// Source range in the caller's text.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Whether the bytes are those of the source range. Otherwise each byte has the whole range.
    unchanged: bool,
}

impl Segment {
    pub(crate) const fn unchanged(start: usize, end: usize) -> Self {
        Self { length: end.saturating_sub(start), start, end, unchanged: true }
    }

    /// At most the first `length` bytes; the rest stays.
    pub(crate) fn split_off(&mut self, length: usize) -> Self {
        let mut taken = *self;
        taken.length = length.min(self.length);
        self.length -= taken.length;
        if self.unchanged {
            taken.end = taken.start + taken.length;
            self.start = taken.end;
        }
        taken
    }
}

/// A normalised text.
pub(crate) struct Normalized {
    pub(crate) bytes: Vec<u8>,
    /// Their lengths add up to that of `bytes`.
    pub(crate) segments: Vec<Segment>,
}

/// A scalar value on its way, and the source range it comes from.
#[derive(Clone, Copy)]
struct Scalar {
    value: u32,
    class: u8,
    start: usize,
    end: usize,
}

/// Normalises by the tables of one artifact.
pub(crate) struct Normalizer<'a> {
    tables: Normalization<'a>,
    index: &'a NormalizationIndex,
    /// All scalar values below it part the text.
    lowest: u32,
}

impl<'a> Normalizer<'a> {
    pub(crate) fn new(tables: Normalization<'a>, index: &'a NormalizationIndex) -> Self {
        Self { tables, index, lowest: index.lowest.min(hangul::VOWELS) }
    }

    /// NFC of each well-formed stretch of `text`; ill-formed bytes stay as they are and part the stretches.
    pub(crate) fn normalize(&self, text: &[u8]) -> Normalized {
        let mut out = Normalized { bytes: Vec::with_capacity(text.len()), segments: Vec::new() };
        let mut chunk_start = 0;
        for chunk in text.utf8_chunks() {
            self.normalize_chunk(text, chunk_start, chunk.valid(), &mut out);
            let ill_formed = chunk_start + chunk.valid().len();
            chunk_start = ill_formed + chunk.invalid().len();
            out.copy(text, ill_formed, chunk_start);
        }
        out
    }

    /// NFC of a well-formed stretch, which stands in `text` from `base` on.
    fn normalize_chunk(&self, text: &[u8], base: usize, chunk: &str, out: &mut Normalized) {
        let mut scratch = Vec::new();
        // From `stretch` on, the text has not been written; `touched`: something in it does not part the text.
        let (mut stretch, mut touched) = (0, false);
        for (at, scalar) in chunk.char_indices() {
            if !self.parts(scalar.into()) {
                touched = true;
            } else if touched {
                self.normalize_stretch(text, base + stretch, chunk.get(stretch..at), &mut scratch, out);
                (stretch, touched) = (at, false);
            } else {
                out.copy(text, base + stretch, base + at);
                stretch = at;
            }
        }
        if touched {
            self.normalize_stretch(text, base + stretch, chunk.get(stretch..), &mut scratch, out);
        } else {
            out.copy(text, base + stretch, base + chunk.len());
        }
    }

    /// Whether the text can be normalised apart before this scalar value.
    fn parts(&self, scalar: u32) -> bool {
        scalar < self.lowest
            || (self.tables.class(scalar) == 0
                && hangul::syllable_index(scalar).is_none()
                && !hangul::is_second(scalar)
                && self.tables.decomposition(scalar).is_none()
                && self.index.seconds.binary_search(&scalar).is_err())
    }

    fn normalize_stretch(
        &self,
        text: &[u8],
        base: usize,
        stretch: Option<&str>,
        scalars: &mut Vec<Scalar>,
        out: &mut Normalized,
    ) {
        scalars.clear();
        for (at, scalar) in stretch.unwrap_or_default().char_indices() {
            let (start, end) = (base + at, base + at + scalar.len_utf8());
            let parts = self.decompose(scalar.into());
            scalars.extend(parts.parts().map(|value| Scalar { value, class: self.tables.class(value), start, end }));
        }
        order(scalars);
        self.compose(scalars);
        for scalar in scalars.iter() {
            out.push(text, scalar);
        }
    }

    /// The full canonical decomposition; of a scalar value that has none, itself.
    fn decompose(&self, scalar: u32) -> Decomposition {
        let Some(index) = hangul::syllable_index(scalar) else {
            return self.tables.decomposition(scalar).unwrap_or(Decomposition::of_itself(scalar));
        };
        let (lead_and_vowel, tail) = (index / hangul::TAIL_COUNT, index % hangul::TAIL_COUNT);
        let lead = hangul::LEADS + lead_and_vowel / hangul::VOWEL_COUNT;
        let vowel = hangul::VOWELS + lead_and_vowel % hangul::VOWEL_COUNT;
        Decomposition::of_syllable(lead, vowel, Some(hangul::TAILS + tail).filter(|_| tail > 0))
    }

    /// Draw each scalar value into the last starter where that is possible and nothing blocks it.
    ///
    /// Between the starter and a scalar value stand only marks that were kept, in canonical order. One of them blocks if its
    /// class is at least that of the scalar value, and the last has the greatest; with none in between nothing blocks.
    fn compose(&self, scalars: &mut Vec<Scalar>) {
        let mut kept = 0;
        let mut starter = None;
        let mut last_class = None;
        for at in 0..scalars.len() {
            let Some(&scalar) = scalars.get(at) else { break };
            let free = last_class.is_none_or(|class| class < scalar.class);
            let first = starter.filter(|_| free).and_then(|starter| scalars.get_mut::<usize>(starter));
            if let Some((first, composite)) = first.and_then(|first| {
                let composite = self.composite(first.value, scalar.value)?;
                Some((first, composite))
            }) {
                first.value = composite;
                first.start = first.start.min(scalar.start);
                first.end = first.end.max(scalar.end);
                continue;
            }
            if scalar.class == 0 {
                (starter, last_class) = (Some(kept), None);
            } else {
                last_class = Some(scalar.class);
            }
            if let Some(place) = scalars.get_mut(kept) {
                *place = scalar;
            }
            kept += 1;
        }
        scalars.truncate(kept);
    }

    /// The primary composite of two scalar values. Hangul comes before the table.
    fn composite(&self, first: u32, second: u32) -> Option<u32> {
        hangul::compose(first, second).or_else(|| self.tables.composite(first, second))
    }
}

impl Normalized {
    /// Source bytes that stay as they are.
    fn copy(&mut self, text: &[u8], start: usize, end: usize) {
        self.bytes.extend_from_slice(text.get(start..end).unwrap_or_default());
        self.append(Segment::unchanged(start, end));
    }

    /// A normalised scalar value. It is unchanged if its bytes are those of its range: then it stands for one source scalar
    /// value, since a range that holds two is longer.
    fn push(&mut self, text: &[u8], scalar: &Scalar) {
        // Compositions and decompositions hold scalar values only.
        let mut buffer = [0; 4];
        let encoded = char::from_u32(scalar.value).unwrap_or_default().encode_utf8(&mut buffer).as_bytes();
        self.bytes.extend_from_slice(encoded);
        let unchanged = text.get(scalar.start..scalar.end) == Some(encoded);
        self.append(Segment { length: encoded.len(), start: scalar.start, end: scalar.end, unchanged });
    }

    fn append(&mut self, segment: Segment) {
        match self.segments.last_mut() {
            Some(last) if last.unchanged && segment.unchanged && last.end == segment.start => {
                last.end = segment.end;
                last.length += segment.length;
            }
            _ => self.segments.push(segment),
        }
    }
}

/// Sort each longest run of marks by class; marks of one class keep their order.
fn order(scalars: &mut [Scalar]) {
    for marks in scalars.split_mut(|scalar| scalar.class == 0) {
        marks.sort_by_key(|mark| mark.class);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::Artifact;
    use alloc::string::String;

    /// Parting the text changes nothing: the same bytes and the same source of each byte as from one stretch.
    #[test]
    fn text_is_parted_only_where_that_changes_nothing() {
        const SEED: u64 = 17;
        let data = std::fs::read("../../src/slm2/data/qwen3-0.6b.slm2").expect("the embedded artifact is there");
        let artifact = Artifact::from_bytes(data).expect("it opens");
        let (tables, index) = artifact.normalization().expect("it normalises");
        let normalizer = Normalizer::new(tables, index);
        // Letters and marks, what decomposes, Bengali vowel signs (starters that are drawn in), Hangul whole and in parts.
        let marks = (0x300, 0x330);
        let jamo = [(0x1100, 0x1113), (0x1161, 0x1176), (0x11A8, 0x11C3), (0xAC00, 0xAC40)];
        let ranges = [&[(0x41, 0x5B), (0xC0, 0x250), marks, marks, (0x9BE, 0x9D8)][..], &jamo].concat();
        let mut state = SEED;
        let mut random = |low: u32, high: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            low + u32::try_from(state >> 40).expect("24 bits") % (high - low)
        };
        let mut changed = 0;
        for round in 0..2_000 {
            let mut text = String::new();
            for _ in 0..random(0, 40) {
                let (low, high) = ranges[random(0, 9) as usize];
                text.extend(char::from_u32(random(low, high)));
            }
            let parted = normalizer.normalize(text.as_bytes());
            let mut whole = Normalized { bytes: Vec::new(), segments: Vec::new() };
            normalizer.normalize_stretch(text.as_bytes(), 0, Some(&text), &mut Vec::new(), &mut whole);
            assert_eq!(parted.bytes, whole.bytes, "seed {SEED} round {round}: {text:?}");
            assert_eq!(sources(&parted), sources(&whole), "seed {SEED} round {round}: {text:?}");
            changed += u32::from(parted.bytes != text.as_bytes());
        }
        assert!(changed > 400, "{changed}");
    }

    /// The source range of each byte.
    fn sources(normalized: &Normalized) -> Vec<(usize, usize)> {
        let mut sources = Vec::new();
        for mut segment in normalized.segments.iter().copied() {
            while segment.length > 0 {
                let byte = segment.split_off(1);
                sources.push((byte.start, byte.end));
            }
        }
        assert_eq!(sources.len(), normalized.bytes.len());
        sources
    }
}
