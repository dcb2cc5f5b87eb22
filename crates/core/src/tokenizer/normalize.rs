//! NFC with source ranges (contract/normalization.md), by the tables of the artifact and never by the host's Unicode.
//!
//! Most text is not touched. Scalar values that nothing changes *part* the text: what comes before one and what comes from it on
//! can be normalised apart. A *stretch* goes from one such to the next, and is decomposed, ordered and composed where something else
//! stands in it.

use alloc::vec::Vec;

use crate::artifact::{Decomposition, Normalization, NormalizationIndex, ScalarTraits};
use crate::error::Error;
use crate::error_code::ErrorCode;

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

/// A normalised text, and the memory to make it.
#[derive(Default)]
pub(crate) struct Normalized {
    pub(crate) bytes: Vec<u8>,
    /// Their lengths add up to that of `bytes`; `None` where nobody asks for them.
    pub(crate) segments: Option<Vec<Segment>>,
    /// The stretch at hand.
    scalars: Vec<Scalar>,
}

/// A scalar value on its way, and the source range it comes from; places are those of a stretch, which has at most 2^31 bytes.
#[derive(Clone, Copy)]
struct Scalar {
    /// The scalar value, above its 21 bits the class, and above its 8 bits whether it may be drawn into another.
    bits: u32,
    start: u32,
    end: u32,
}

impl Scalar {
    const VALUE_BITS: u32 = 21;
    const DRAWN: u32 = 1 << 29;

    fn new(value: u32, traits: ScalarTraits, start: u32, end: u32) -> Self {
        let drawn = if traits.may_change() { Self::DRAWN } else { 0 };
        Self { bits: value | u32::from(traits.class()) << Self::VALUE_BITS | drawn, start, end }
    }

    const fn value(self) -> u32 {
        self.bits & ((1 << Self::VALUE_BITS) - 1)
    }

    const fn class(self) -> u32 {
        self.bits >> Self::VALUE_BITS & 0xFF
    }

    const fn may_be_drawn(self) -> bool {
        self.bits & Self::DRAWN != 0
    }
}

/// Normalises by the tables of one artifact.
#[derive(Clone, Copy)]
pub(crate) struct Normalizer<'a> {
    tables: Normalization<'a>,
    index: &'a NormalizationIndex,
}

/// What [`Normalizer::settled`] found.
pub(crate) struct Settled {
    /// Where what can be normalised ends, if that is further than before.
    pub(crate) end: Option<usize>,
    /// How far the text was looked through.
    pub(crate) reached: usize,
    /// Where the last scalar value begins that was looked at.
    pub(crate) last: usize,
}

/// A longer run of marks is counted by class and not compared.
const COMPARED: usize = 20;
/// Memory for more scalar values than that is not kept for the next text.
const KEPT: usize = 1 << 16;

impl<'a> Normalizer<'a> {
    pub(crate) const fn new(tables: Normalization<'a>, index: &'a NormalizationIndex) -> Self {
        Self { tables, index }
    }

    /// Whether a text is its own NFC for sure, with no stretch of more than `limit` bytes.
    pub(crate) fn is_stable(self, text: &[u8], limit: usize) -> bool {
        self.index.is_stable(text, limit)
    }

    /// Append the NFC of each well-formed part of `text`; ill-formed bytes stay as they are. `pretoken_too_long` where a stretch is
    /// longer than `limit`; `out` then ends where it begins.
    pub(crate) fn normalize(self, text: &[u8], limit: usize, out: &mut Normalized) -> Result<(), Error> {
        let mut chunk_start = 0;
        for (valid, invalid) in well_formed_parts(text) {
            self.normalize_chunk(valid, chunk_start, limit, out)?;
            let ill_formed = chunk_start + valid.len();
            chunk_start = ill_formed + invalid.len();
            out.copy(invalid, ill_formed);
        }
        Ok(())
    }

    /// NFC of a well-formed stretch, which stands `base` bytes into its source.
    fn normalize_chunk(self, chunk: &str, base: usize, limit: usize, out: &mut Normalized) -> Result<(), Error> {
        // From `kept` on, the text has not been written; from `stretch` on, it is one stretch, which `changes` or not.
        let (mut kept, mut stretch, mut changes, mut last_class) = (0, 0, false, 0);
        let part = |start, end| chunk.get(start..end).unwrap_or_default();
        for (at, scalar) in chunk.char_indices() {
            let traits = self.index.traits(scalar.into());
            if traits.parts() {
                if changes {
                    out.copy(part(kept, stretch).as_bytes(), base + kept);
                    self.normalize_stretch(part(stretch, at), base + stretch, out);
                    (kept, changes) = (at, false);
                }
                stretch = at;
            } else {
                if at - stretch > limit {
                    out.copy(part(kept, stretch).as_bytes(), base + kept);
                    return Err(too_long(out.bytes.len(), limit));
                }
                let class = traits.class();
                changes |= traits.may_change() || (class > 0 && class < last_class);
            }
            last_class = traits.class();
        }
        if changes {
            out.copy(part(kept, stretch).as_bytes(), base + kept);
            self.normalize_stretch(part(stretch, chunk.len()), base + stretch, out);
        } else {
            out.copy(part(kept, chunk.len()).as_bytes(), base + kept);
        }
        Ok(())
    }

    /// The bytes at the beginning of `text` that can be normalised apart from what comes after, whatever that is; looked for from
    /// `from` on, a place between scalar values that an earlier call has reached.
    pub(crate) fn settled(self, text: &[u8], from: usize) -> Settled {
        let (mut settled, mut reached, mut last) = (None, from, 0);
        for (valid, invalid) in well_formed_parts(text.get(from..).unwrap_or_default()) {
            let parting = valid.char_indices().rfind(|&(_, scalar)| self.index.traits(scalar.into()).parts());
            settled = parting.map(|(at, _)| reached + at).or(settled);
            last = valid.char_indices().next_back().map_or(last, |(at, _)| reached + at);
            reached += valid.len();
            // What could become a scalar value with more bytes is looked at again.
            if reached + invalid.len() == text.len() && is_open(invalid) {
                break;
            }
            reached += invalid.len();
            settled = Some(reached).filter(|_| !invalid.is_empty()).or(settled);
        }
        Settled { end: settled, reached, last }
    }

    fn normalize_stretch(self, stretch: &str, base: usize, out: &mut Normalized) {
        let mut scalars = core::mem::take(&mut out.scalars);
        scalars.clear();
        if stretch.len() > KEPT {
            // Exactly: the memory that a byte takes is promised.
            let parts = |scalar: char| if self.index.traits(scalar.into()).decomposes() { 4 } else { 1 };
            scalars.reserve_exact(stretch.chars().map(parts).sum());
        }
        for (at, scalar) in stretch.char_indices() {
            let (value, traits) = (u32::from(scalar), self.index.traits(scalar.into()));
            let (start, end) = (place(at), place(at + scalar.len_utf8()));
            if traits.decomposes() || hangul::syllable_index(value).is_some() {
                let parts = self.decompose(value);
                scalars.extend(parts.parts().map(|part| Scalar::new(part, self.index.traits(part), start, end)));
            } else {
                scalars.push(Scalar::new(value, traits, start, end));
            }
        }
        order(&mut scalars);
        self.compose(&mut scalars);
        for scalar in &scalars {
            out.push(stretch, base, *scalar);
        }
        if scalars.capacity() <= KEPT {
            out.scalars = scalars;
        }
    }

    /// The full canonical decomposition; of a scalar value that has none, itself.
    fn decompose(self, scalar: u32) -> Decomposition {
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
    fn compose(self, scalars: &mut Vec<Scalar>) {
        let mut kept = 0;
        let mut starter = None;
        let mut last_class = None;
        for at in 0..scalars.len() {
            let Some(&scalar) = scalars.get(at) else { break };
            let free = scalar.may_be_drawn() && last_class.is_none_or(|class| class < scalar.class());
            let first = starter.filter(|_| free).and_then(|starter| scalars.get_mut::<usize>(starter));
            if let Some((first, composite)) = first.and_then(|first| {
                let composite = self.composite(first.value(), scalar.value())?;
                Some((first, composite))
            }) {
                *first = Scalar::new(composite, self.index.traits(composite), first.start, first.end);
                first.start = first.start.min(scalar.start);
                first.end = first.end.max(scalar.end);
                continue;
            }
            if scalar.class() == 0 {
                (starter, last_class) = (Some(kept), None);
            } else {
                last_class = Some(scalar.class());
            }
            if let Some(place) = scalars.get_mut(kept) {
                *place = scalar;
            }
            kept += 1;
        }
        scalars.truncate(kept);
    }

    /// The primary composite of two scalar values. Hangul comes before the table.
    fn composite(self, first: u32, second: u32) -> Option<u32> {
        hangul::compose(first, second).or_else(|| self.tables.composite(first, second))
    }
}

impl Normalized {
    /// What comes after normalised text.
    pub(crate) fn after(bytes: Vec<u8>) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// Nothing yet, and where it comes from.
    pub(crate) fn with_segments() -> Self {
        Self { segments: Some(Vec::new()), ..Self::default() }
    }

    /// Source bytes that stay as they are, from `start` on.
    fn copy(&mut self, bytes: &[u8], start: usize) {
        self.bytes.extend_from_slice(bytes);
        self.append(Segment::unchanged(start, start + bytes.len()));
    }

    /// A normalised scalar value of a stretch. It is unchanged if its bytes are those of its range: then it stands for one source scalar
    /// value, since a range that holds two is longer.
    fn push(&mut self, stretch: &str, base: usize, scalar: Scalar) {
        // Compositions and decompositions hold scalar values only.
        let mut buffer = [0; 4];
        let encoded = char::from_u32(scalar.value()).unwrap_or_default().encode_utf8(&mut buffer).as_bytes();
        self.bytes.extend_from_slice(encoded);
        if self.segments.is_none() {
            return;
        }
        let (start, end) = (scalar.start as usize, scalar.end as usize);
        let unchanged = stretch.as_bytes().get(start..end) == Some(encoded);
        self.append(Segment { length: encoded.len(), start: base + start, end: base + end, unchanged });
    }

    fn append(&mut self, segment: Segment) {
        let Some(segments) = &mut self.segments else { return };
        match segments.last_mut() {
            Some(last) if last.unchanged && segment.unchanged && last.end == segment.start => {
                last.end = segment.end;
                last.length += segment.length;
            }
            _ if segment.length == 0 => {}
            _ => segments.push(segment),
        }
    }
}

/// Sort each longest run of marks by class; marks of one class keep their order.
fn order(scalars: &mut [Scalar]) {
    for marks in scalars.split_mut(|scalar| scalar.class() == 0) {
        if marks.is_sorted_by_key(|mark| mark.class()) {
            continue;
        }
        if marks.len() <= COMPARED {
            // Short ones are sorted without any memory.
            marks.sort_by_key(|mark| mark.class());
        } else {
            order_by_counting(marks);
        }
    }
}

/// The same in time and memory that grow with the length alone: from a copy, so that it is read and written in order class by class.
fn order_by_counting(marks: &mut [Scalar]) {
    let mut ends = [0_usize; 257];
    for mark in marks.iter() {
        if let Some(count) = ends.get_mut(mark.class() as usize + 1) {
            *count += 1;
        }
    }
    let mut sum = 0;
    for end in &mut ends {
        sum += *end;
        *end = sum;
    }
    let before = marks.to_vec();
    for mark in before {
        // Behind those of lower classes and those of its own that come before it.
        let Some(next) = ends.get_mut(mark.class() as usize) else { continue };
        if let Some(place) = marks.get_mut(*next) {
            *place = mark;
        }
        *next += 1;
    }
}

/// What is well formed, each with the ill-formed bytes after it. Most text is one such, which is seen sooner as a whole.
fn well_formed_parts(text: &[u8]) -> impl Iterator<Item = (&str, &[u8])> {
    let whole = core::str::from_utf8(text).ok();
    let damaged = if whole.is_some() { &[] } else { text };
    whole
        .map(|whole| (whole, &[][..]))
        .into_iter()
        .chain(damaged.utf8_chunks().map(|part| (part.valid(), part.invalid())))
}

/// Whether these bytes, which are not well formed, can become so with more after them.
fn is_open(bytes: &[u8]) -> bool {
    !bytes.is_empty() && core::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

/// A place in a stretch, which has at most 2^31 bytes.
fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

pub(crate) fn too_long(start: usize, limit: usize) -> Error {
    Error::new(ErrorCode::PretokenTooLong, [("start", start.into()), ("limit", limit.into())])
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
            let (mut parted, mut whole) = (Normalized::with_segments(), Normalized::with_segments());
            normalizer.normalize(text.as_bytes(), 1_000, &mut parted).expect("it is short");
            normalizer.normalize_stretch(&text, 0, &mut whole);
            assert_eq!(parted.bytes, whole.bytes, "seed {SEED} round {round}: {text:?}");
            assert_eq!(sources(&parted), sources(&whole), "seed {SEED} round {round}: {text:?}");
            changed += u32::from(parted.bytes != text.as_bytes());
        }
        assert!(changed > 400, "{changed}");
    }

    /// The source range of each byte.
    fn sources(normalized: &Normalized) -> Vec<(usize, usize)> {
        let mut sources = Vec::new();
        for mut segment in normalized.segments.iter().flatten().copied() {
            while segment.length > 0 {
                let byte = segment.split_off(1);
                sources.push((byte.start, byte.end));
            }
        }
        assert_eq!(sources.len(), normalized.bytes.len());
        sources
    }
}
