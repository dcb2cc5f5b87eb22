//! Sets of characters of two and three bytes, looked up by their bytes as they stand in a text.

use alloc::boxed::Box;

/// How many tail bytes there are.
pub(crate) const TAILS: usize = 64;

/// A set of characters of two and three bytes: a bit for the last byte of each, in a word for the bytes before.
pub(crate) struct CharacterSet {
    /// By the lead byte from C0 on.
    pub(crate) two: [u64; 1 << 5],
    /// By the lead byte from E0 on, and the second.
    pub(crate) three: [u64; 1 << 10],
}

impl CharacterSet {
    /// All or none of them. What three bytes that are no character would say has a bit too.
    pub(crate) fn filled(with: bool) -> Box<Self> {
        let word = if with { u64::MAX } else { 0 };
        Box::new(Self { two: [word; 1 << 5], three: [word; 1 << 10] })
    }

    /// Whether it has a character.
    #[inline]
    pub(crate) fn has(&self, character: Character) -> bool {
        let Character { length, before, last } = character;
        let tails = if length == 3 { self.three.get(before) } else { self.two.get(before) };
        tails.is_some_and(|tails| tails >> last & 1 == 1)
    }

    /// How many of the first bytes of a text are characters of three bytes that it has, in fours, which are looked up without a branch in
    /// between.
    #[inline]
    pub(crate) fn leading_fours(&self, text: &[u8]) -> usize {
        let mut at = 0;
        while let Some([a, b, c, d]) = text.get(at..).and_then(four_of_three_bytes) {
            if self.three_bits(a) & self.three_bits(b) & self.three_bits(c) & self.three_bits(d) & 1 == 0 {
                break;
            }
            at += 12;
        }
        at
    }

    /// The bits from that of a character of three bytes on.
    #[inline]
    fn three_bits(&self, character: u32) -> u64 {
        let before = (character & 0xF) << 6 | character >> 8 & 0x3F;
        self.three.get(before as usize).map_or(0, |tails| tails >> (character >> 16 & 0x3F))
    }

    /// Take a scalar value out.
    pub(crate) fn remove(&mut self, scalar: u32) {
        let (before, last) = ((scalar >> 6) as usize, scalar & 0x3F);
        let place = if scalar < 0x800 { self.two.get_mut(before) } else { self.three.get_mut(before) };
        if let Some(tails) = place {
            *tails &= !(1 << last);
        }
    }
}

/// A character of two or three bytes, as a set looks it up. Of three, the first and second may be such as no character begins with.
#[derive(Clone, Copy)]
pub(crate) struct Character {
    /// In bytes.
    pub(crate) length: usize,
    before: usize,
    last: usize,
}

impl Character {
    /// The one at the beginning of four bytes.
    #[inline]
    pub(crate) fn of(four: [u8; 4]) -> Option<Self> {
        let word = u32::from_le_bytes(four) as usize;
        if word & 0xC0_C0_F0 == 0x80_80_E0 {
            let before = (word & 0xF) << 6 | word >> 8 & 0x3F;
            return Some(Self { length: 3, before, last: word >> 16 & 0x3F });
        }
        (word & 0xC0_E0 == 0x80_C0).then_some(Self { length: 2, before: word & 0x1F, last: word >> 8 & 0x3F })
    }

    /// The one at the beginning of a text.
    #[inline]
    pub(crate) fn first(text: &[u8]) -> Option<Self> {
        Self::of(first_4(text))
    }
}

/// The four characters of three bytes at the beginning of a text, each in the lower bytes of a number.
#[inline]
fn four_of_three_bytes(text: &[u8]) -> Option<[u32; 4]> {
    const fn each(character: u128) -> u128 {
        character | character << 24 | character << 48 | character << 72
    }
    let word = u128::from_le_bytes(*text.first_chunk()?);
    let character = |at: u32| ((word >> (24 * at)) & 0xFF_FF_FF) as u32;
    (word & each(0xC0_C0_F0) == each(0x80_80_E0)).then(|| [character(0), character(1), character(2), character(3)])
}

/// The first four bytes of a text, 0 after its end.
#[inline]
pub(crate) fn first_4(text: &[u8]) -> [u8; 4] {
    text.first_chunk().copied().unwrap_or_else(|| up_to_3(text))
}

#[inline(never)]
fn up_to_3(text: &[u8]) -> [u8; 4] {
    let mut four = [0; 4];
    four.iter_mut().zip(text).for_each(|(place, &byte)| *place = byte);
    four
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::String;
    use std::vec::Vec;

    /// Fours are what the characters are one by one, whatever stands between them.
    #[test]
    fn fours_are_characters_that_the_set_has() {
        const PARTS: [&str; 6] = ["中", "の", "\u{3099}", "é", "a", "😀"];
        let mut set = CharacterSet::filled(true);
        set.remove(0x3099);
        for number in 0..PARTS.len().pow(6) {
            let parts: Vec<&str> = (0..6).map(|place| PARTS[number / PARTS.len().pow(place) % PARTS.len()]).collect();
            let text: String = parts.iter().copied().chain(["中"; 5]).collect();
            let known = parts.iter().take_while(|part| ["中", "の"].contains(part)).count();
            let known = if known == parts.len() { known + 5 } else { known };
            assert_eq!(set.leading_fours(text.as_bytes()), known / 4 * 12, "{text}");
        }
    }

    #[test]
    fn bytes_that_are_no_characters_of_three_are_none() {
        let set = CharacterSet::filled(true);
        for place in 0..12 {
            for byte in 0..=u8::MAX {
                let mut text = "中".repeat(8).into_bytes();
                text[place] = byte;
                let lead = place % 3 == 0;
                let fits = if lead { byte & 0xF0 == 0xE0 } else { byte & 0xC0 == 0x80 };
                assert_eq!(set.leading_fours(&text), if fits { 12 } else { 0 }, "{byte} at {place}");
            }
        }
    }
}
