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
