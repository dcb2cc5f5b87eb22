//! Places inside a piece that no token crosses.
//!
//! Where no entry of the vocabulary holds the two scalar values left and right of a place next to each other, no merge can cross it:
//! what stands on the two sides is encoded apart, with the same ids. Text without spaces, as Chinese is written, comes apart into
//! words in this way, and words come again where whole clauses do not.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use crate::artifact::Vocabulary;
use crate::character_set::first_4;
use crate::ids::TokenId;
use crate::tokenizer::Key;

/// 2^20 bits for the pairs of scalar values; of Qwen3's 23,193 pairs beyond ASCII few share one.
const PAIR_BITS: u32 = 20;

/// 2^13 words for the edges.
const EDGE_BITS: u32 = 13;

/// Seams are looked for in so many bytes at once, since so many bits have a word.
pub(super) const WINDOW: usize = 64;

/// What the vocabulary has next to each other. Both sets may say more than there is, never less.
pub(crate) struct Seams {
    /// Pairs of scalar values, by a hash.
    pairs: Vec<u64>,
    /// Where an entry holds but a part of one of the two: a word for the last byte of the left and the first of the right, and in it a bit
    /// for the second byte of the right. By the two bytes alone a tenth of neighbours in Chinese would be taken for joined that are not.
    edges: Vec<u64>,
}

impl Seams {
    pub(crate) fn new(vocabulary: Vocabulary<'_>) -> Self {
        let mut seams = Self { pairs: vec![0; 1 << (PAIR_BITS - 6)], edges: vec![0; 1 << EDGE_BITS] };
        for stretch in vocabulary.stretches() {
            seams.note_all(stretch, vocabulary);
        }
        seams
    }

    /// Note the entries of a stretch. Between two ASCII characters no seam is looked for: nearly all of their pairs stand in some token.
    #[inline(never)]
    fn note_all(&mut self, stretch: Range<u32>, vocabulary: Vocabulary<'_>) {
        for id in stretch.map(TokenId::new) {
            match vocabulary.key(id) {
                Some(key) if key.is_ascii() => {}
                Some(key) => self.note(short_stretches(key)),
                None => self.note(stretches(vocabulary.token(id))),
            }
        }
    }

    /// Note what an entry has next to each other, before each of its bytes that is no tail byte.
    #[inline]
    fn note(&mut self, mut stretches: impl Iterator<Item = Stretch>) {
        let Some(mut left) = stretches.next() else { return };
        for right in stretches {
            if left.is_whole() && right.is_whole() {
                set(&mut self.pairs, pair_hash(Scalar(left.bytes), Scalar(right.bytes)));
            } else {
                // Where the entry ends with the first byte, what follows may be any.
                let seconds = if right.length == 1 { u64::MAX } else { second_bit(right.bytes) };
                if let Some(word) = self.edges.get_mut(edge(left.last, right.lead)) {
                    *word |= seconds;
                }
            }
            left = right;
        }
    }

    /// Whether an entry holds a part of one of two neighbours together with a byte of the other.
    #[inline]
    pub(super) fn has_edge(&self, left: Scalar, right: Scalar) -> bool {
        let word = self.edges.get(edge(left.last_byte(), right.first_byte()));
        word.is_none_or(|word| word & second_bit(right.0) != 0)
    }

    /// A bit for each seam within the first [`WINDOW`] bytes of a piece: of the byte that begins a part.
    pub(super) fn beginnings(&self, piece: &[u8]) -> u64 {
        let mut beginnings = 0;
        let mut left: Option<Scalar> = None;
        let mut at = 0;
        while at < piece.len().min(WINDOW) {
            let right = Scalar::first(piece.get(at..).unwrap_or_default());
            if let (Some(left), Some(right)) = (left, right) {
                // No branches: which neighbours have a seam, nothing predicts.
                let joined = is_set(&self.pairs, pair_hash(left, right)) | self.has_edge(left, right);
                beginnings |= u64::from(!joined & !(left.is_ascii() & right.is_ascii())) << at;
            }
            at += right.map_or(1, Scalar::length);
            left = right;
        }
        beginnings
    }

    /// The length of the part of `piece` before its first seam; of the whole piece where it has none.
    pub(crate) fn first_part(&self, piece: &[u8]) -> usize {
        let mut start = 0;
        loop {
            let rest = piece.get(start..).unwrap_or_default();
            let beginnings = self.beginnings(rest);
            if beginnings != 0 {
                return start + beginnings.trailing_zeros() as usize;
            }
            let Some(window) = rest.get(..WINDOW) else { return piece.len() };
            // The next window begins with the last scalar value that this one saw beside what is before it.
            let last = window.iter().rposition(|&byte| scalar_length(byte) > 0);
            start += last.filter(|&last| last > 0).unwrap_or(WINDOW);
        }
    }
}

/// The bytes of a scalar value, the first lowest.
#[derive(Clone, Copy)]
pub(super) struct Scalar(u32);

impl Scalar {
    /// The well-formed scalar value at the beginning of a text.
    #[inline]
    pub(super) fn first(text: &[u8]) -> Option<Self> {
        let word = u32::from_le_bytes(first_4(text));
        let lead = word & 0xFF;
        // E0 and ED, and four bytes, are left to the library: they have ranges of their own.
        if word & 0xC0_C0_F0 == 0x80_80_E0 && lead != 0xE0 && lead != 0xED {
            return Some(Self(word & 0xFF_FF_FF));
        }
        if word & 0xC0_E0 == 0x80_C0 && lead >= 0xC2 {
            return Some(Self(word & 0xFF_FF));
        }
        let length = scalar_length(*text.first()?).max(1);
        let bytes = text.get(..length).filter(|bytes| core::str::from_utf8(bytes).is_ok())?;
        Some(Self::of_bytes(bytes))
    }

    /// One to four bytes.
    fn of_bytes(bytes: &[u8]) -> Self {
        Self(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u32::from(byte)))
    }

    const fn is_ascii(self) -> bool {
        self.0 < 0x80
    }

    pub(super) const fn length(self) -> usize {
        self.last_place() as usize / 8 + 1
    }

    /// Where the last byte has its bits: of a scalar value of several bytes it has the top bit.
    const fn last_place(self) -> u32 {
        (self.0 | 1).ilog2() & !7
    }

    /// The bytes, and how many they are.
    pub(super) const fn bytes(self) -> ([u8; 4], usize) {
        (self.0.to_le_bytes(), self.length())
    }

    /// Its number, where it has up to three bytes.
    pub(super) fn number(self) -> Option<u32> {
        let [first, second, third, _] = self.0.to_le_bytes().map(u32::from);
        match self.length() {
            1 => Some(first),
            2 => Some((first & 0x1F) << 6 | second & 0x3F),
            3 => Some((first & 0xF) << 12 | (second & 0x3F) << 6 | third & 0x3F),
            _ => None,
        }
    }

    const fn first_byte(self) -> u8 {
        self.0.to_le_bytes()[0]
    }

    const fn last_byte(self) -> u8 {
        (self.0 >> self.last_place()).to_le_bytes()[0]
    }
}

/// How many bytes a scalar value has that begins with this byte; 0 for a tail byte.
const fn scalar_length(lead: u8) -> usize {
    match lead {
        0x00..=0x7F => 1,
        0x80..=0xBF => 0,
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xFF => 4,
    }
}

/// A byte with the tail bytes after it, of which it may ask for fewer or more.
#[derive(Clone, Copy)]
struct Stretch {
    /// The first four, the first lowest.
    bytes: u32,
    length: usize,
    lead: u8,
    last: u8,
}

impl Stretch {
    /// The first one of some bytes, and the bytes after it.
    fn first(text: &[u8]) -> Option<(Self, &[u8])> {
        let (&lead, mut rest) = text.split_first()?;
        let mut stretch = Self { bytes: lead.into(), length: 1, lead, last: lead };
        while let Some((&tail @ 0x80..=0xBF, after)) = rest.split_first() {
            if stretch.length < 4 {
                stretch.bytes |= u32::from(tail) << (8 * stretch.length);
            }
            (stretch.length, stretch.last, rest) = (stretch.length + 1, tail, after);
        }
        Some((stretch, rest))
    }

    const fn is_whole(self) -> bool {
        scalar_length(self.lead) == self.length
    }
}

/// The stretches of a token.
fn stretches(token: &[u8]) -> impl Iterator<Item = Stretch> {
    let mut rest = token;
    core::iter::from_fn(move || {
        let (stretch, after) = Stretch::first(rest)?;
        rest = after;
        Some(stretch)
    })
}

/// The lowest bit of each byte.
const ONES: u128 = u128::from_ne_bytes([1; 16]);

/// The same of a token by its key: where stretches begin is found for all bytes at once.
#[inline]
fn short_stretches(key: Key) -> impl Iterator<Item = Stretch> {
    let (bytes, length) = key.bytes();
    let bytes = u128::from_le_bytes(bytes);
    let tails = bytes >> 7 & !(bytes >> 6) & ONES;
    // Of each byte that is no tail byte and of the end, one bit; not of the first byte, which begins a stretch whatever it is.
    let end = 1_u128 << (8 * length);
    let mut ends = (!tails & ONES & (end - 1) | end) & !1;
    let mut at = 0;
    core::iter::from_fn(move || {
        if ends == 0 {
            return None;
        }
        let (next, first) = (ends.trailing_zeros(), bytes >> at);
        ends &= ends - 1;
        let length = (next - at) / 8;
        let [low, second, third, fourth, ..] = first.to_le_bytes();
        let kept = u32::MAX >> (32 - 8 * length.min(4));
        let stretch = Stretch {
            bytes: u32::from_le_bytes([low, second, third, fourth]) & kept,
            length: length as usize,
            lead: low,
            last: (bytes >> (next - 8)).to_le_bytes()[0],
        };
        at = next;
        Some(stretch)
    })
}

#[inline]
fn pair_hash(left: Scalar, right: Scalar) -> usize {
    let mixed = (u64::from(left.0) << 32 | u64::from(right.0)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> (64 - PAIR_BITS)) as usize
}

/// The word of an edge. Bytes of one character and of two others may share one: the 64 that end a character stand where the upper half of
/// ASCII does, and of a first byte 6 bits say which.
#[inline]
fn edge(last: u8, lead: u8) -> usize {
    let last = (last ^ (last >> 1 & 0x40)) & 0x7F;
    usize::from(last) << 6 | usize::from(lead & 0x3F)
}

/// The bit of the second byte in a word of edges.
#[inline]
const fn second_bit(bytes: u32) -> u64 {
    1 << (bytes >> 8 & 0x3F)
}

fn set(bits: &mut [u64], bit: usize) {
    if let Some(word) = bits.get_mut(bit / 64) {
        *word |= 1 << (bit % 64);
    }
}

fn is_set(bits: &[u64], bit: usize) -> bool {
    bits.get(bit / 64).is_none_or(|word| word >> (bit % 64) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::Artifact;
    use crate::tokenizer::merge::{MergeTables, Merger};

    /// Every token of a few bytes of each kind, and damaged ones of all lengths.
    #[test]
    fn stretches_of_a_key_are_those_of_the_bytes() {
        const BYTES: [u8; 9] = [b'a', 0x7F, 0x80, 0xBF, 0xC3, 0xE4, 0xED, 0xF0, 0xFF];
        let parts = |stretches: &mut dyn Iterator<Item = Stretch>| -> Vec<(u32, usize, u8, u8)> {
            stretches.map(|stretch| (stretch.bytes, stretch.length, stretch.lead, stretch.last)).collect()
        };
        let mut state = 7_usize;
        for round in 0..40_000 {
            let token: Vec<u8> = (0..=round % 15)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    BYTES[(state >> 33) % BYTES.len()]
                })
                .collect();
            let key = Key::new(&token, token.len()).expect("short");
            assert_eq!(parts(&mut short_stretches(key)), parts(&mut stretches(&token)), "{token:x?}");
        }
    }

    /// Pieces of many windows with few seams, some of them damaged: one scalar value after the other says the same.
    #[test]
    fn windows_see_every_seam() {
        const SEED: u64 = 23;
        let data = std::fs::read("../../src/slm2/data/qwen3-0.6b.slm2").expect("the embedded artifact is there");
        let artifact = Artifact::from_bytes(data).expect("it opens");
        let seams = artifact.seams();
        let one_by_one = |piece: &[u8]| {
            let (mut left, mut at) = (None, 0);
            while at < piece.len() {
                let right = Scalar::first(&piece[at..]);
                if let (Some(left), Some(right)) = (left, right) {
                    let joined = is_set(&seams.pairs, pair_hash(left, right)) || seams.has_edge(left, right);
                    if !(joined || left.is_ascii() && right.is_ascii()) {
                        return at;
                    }
                }
                (left, at) = (right, at + right.map_or(1, Scalar::length));
            }
            piece.len()
        };
        let mut state = SEED;
        let mut random = |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).expect("31 bits") % limit
        };
        let (mut beyond, mut whole) = (0, 0);
        for round in 0..20_000 {
            // Between two of ASCII there is no seam.
            let rare = ['é', '一', '🜁', '丁', 'ж'];
            let text: alloc::string::String =
                (0..random(400)).map(|_| if random(120) == 0 { rare[random(rare.len())] } else { 'a' }).collect();
            let mut piece = text.into_bytes();
            for _ in 0..round % 3 * usize::from(!piece.is_empty()) {
                let place = random(piece.len());
                piece[place] = [0x80, 0xC3, 0xE4, 0xFF][random(4)];
            }
            let part = seams.first_part(&piece);
            assert_eq!(part, one_by_one(&piece), "seed {SEED} round {round}: {piece:x?}");
            beyond += usize::from(part > WINDOW && part < piece.len());
            whole += usize::from(part > WINDOW && part == piece.len());
        }
        assert!(beyond > 2_000 && whole > 2_000, "{beyond} {whole}");
    }

    /// Text of scalar values that the vocabulary has next to each other often, seldom and never, some of it damaged.
    #[test]
    fn parts_encode_apart_as_they_do_together() {
        const SEED: u64 = 5;
        let data = std::fs::read("../../src/slm2/data/qwen3-0.6b.slm2").expect("the embedded artifact is there");
        let artifact = Artifact::from_bytes(data).expect("it opens");
        let tables = MergeTables {
            merges: artifact.merges(),
            byte_pairs: artifact.byte_pairs(),
            vocabulary: artifact.vocabulary(),
        };
        let alphabet: Vec<char> = "的是不我一有在人这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长abcé ".chars().collect();
        let mut merger = Merger::default();
        let (mut state, mut seams) = (SEED, 0);
        let mut random = |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).expect("31 bits") % limit
        };
        for round in 0..20_000 {
            let text: alloc::string::String = (0..2 + random(14)).map(|_| alphabet[random(alphabet.len())]).collect();
            let mut piece = text.into_bytes();
            if round % 4 == 0 {
                piece.remove(random(piece.len()));
            }
            let (mut whole, mut apart) = (Vec::new(), Vec::new());
            whole.extend_from_slice(merger.merge(&tables, &piece));
            let mut rest = piece.as_slice();
            while !rest.is_empty() {
                let (part, after) = rest.split_at(artifact.seams().first_part(rest));
                apart.extend_from_slice(merger.merge(&tables, part));
                seams += usize::from(!after.is_empty());
                rest = after;
            }
            assert_eq!(apart, whole, "seed {SEED} round {round}: {piece:?}");
        }
        assert!(seams > 50_000, "{seams}");
    }
}
