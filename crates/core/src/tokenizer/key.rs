//! A short piece as one number, so that comparing and hashing it is a few instructions.

/// The longest piece that has a key, in bytes: 15 and a byte for the lengths make a key.
pub(crate) const SHORT: usize = 15;
/// Where a key has its length, in four bits; the three bits above it are free.
pub(super) const LENGTH_SHIFT: u32 = 120;
/// The top bit: the key of a part.
pub(super) const PART: u128 = 1 << 127;

/// A short piece as a number: its bytes, zero after them, and its length in the top byte. No piece is 0, since none is empty.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Key(pub(super) u128);

/// The bits of the first bytes, by how many they are: a shift by so many bits takes longer than this.
#[allow(clippy::indexing_slicing)] // checked when it is compiled
const MASKS: [u128; SHORT + 1] = {
    let mut masks = [0; SHORT + 1];
    let mut length = 1;
    while length <= SHORT {
        masks[length] = masks[length - 1] << 8 | 0xFF;
        length += 1;
    }
    masks
};

impl Key {
    /// The key of none: an entry has no such length.
    pub(super) const NONE: Self = Self(1);

    /// The key of the first `length` bytes of `text`; `None` where they are too many.
    #[inline]
    pub(crate) fn new(text: &[u8], length: usize) -> Option<Self> {
        if length > SHORT {
            return None;
        }
        let kept = first_16(text) & MASKS.get(length).copied().unwrap_or(0);
        Some(Self(kept | (length as u128) << LENGTH_SHIFT))
    }

    /// The key of two pieces, one after the other; `None` where they are too long.
    #[inline]
    pub(crate) const fn then(self, other: Self) -> Option<Self> {
        let Self(left) = self;
        let Self(right) = other;
        let (length, added) = ((left >> LENGTH_SHIFT) as usize, (right >> LENGTH_SHIFT) as usize);
        if length + added > SHORT {
            return None;
        }
        let bytes = (right & ((1 << LENGTH_SHIFT) - 1)) << (8 * length);
        // The lengths add up as numbers in the top byte.
        Some(Self((left | bytes) + ((added as u128) << LENGTH_SHIFT)))
    }

    /// The key of a part of a piece, which is another than that of a piece with the same bytes: a sealed fact (contract/tokenizer.md,
    /// T-6) says what a piece is, and nothing of parts.
    #[inline]
    pub(super) const fn as_part(self) -> Self {
        Self(self.0 | PART)
    }

    /// The bytes, zero after them.
    #[inline]
    pub(crate) const fn bytes(self) -> ([u8; 16], usize) {
        let Self(key) = self;
        let length = (key >> LENGTH_SHIFT) as usize & SHORT;
        ((key & ((1 << (8 * length)) - 1)).to_le_bytes(), length)
    }

    /// Whether it is the key of none.
    pub(super) const fn is_none(self) -> bool {
        self.0 == Self::NONE.0
    }

    /// Whether it is the key of a part.
    pub(super) const fn is_part(self) -> bool {
        self.0 & PART != 0
    }

    /// Whether all bytes are ASCII.
    pub(super) const fn is_ascii(self) -> bool {
        self.0 & (u128::from_ne_bytes([0x80; 16]) >> 8) == 0
    }

    #[inline]
    pub(crate) const fn hash(self) -> u64 {
        mix(self.0)
    }
}

/// The first 16 bytes of a text, zero after its end.
#[inline]
pub(super) fn first_16(text: &[u8]) -> u128 {
    if let Some(bytes) = text.first_chunk::<16>() {
        return u128::from_le_bytes(*bytes);
    }
    up_to_15(text)
}

/// Not inlined: but for the end of a text it is not needed.
#[inline(never)]
fn up_to_15(text: &[u8]) -> u128 {
    // Two loads that overlap, the second moved so that it brings what the first has not.
    let length = text.len();
    if let (Some(first), Some(last)) = (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        let last = u128::from(u64::from_le_bytes(*last)) >> (8 * (16 - length));
        return u128::from(u64::from_le_bytes(*first)) | last << 64;
    }
    if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        let last = u64::from(u32::from_le_bytes(*last)) >> (8 * (8 - length));
        return u128::from(u64::from(u32::from_le_bytes(*first)) | last << 32);
    }
    text.iter().rev().fold(0, |number, &byte| number << 8 | u128::from(byte))
}

/// The halves of a number, mixed by multiplication; any mixing is right, this one spreads the upper bits.
#[inline]
#[allow(clippy::cast_possible_truncation)] // the two halves
pub(super) const fn mix(number: u128) -> u64 {
    let (low, high) = (number as u64, (number >> 64) as u64);
    (low ^ high.rotate_left(29)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// A hash of bytes of any number.
#[inline]
pub(crate) fn hash_of(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut hash = bytes.len() as u64;
    let mut rest = bytes;
    while let Some((word, after)) = rest.split_first_chunk::<8>() {
        (hash, rest) = (mix(hash, u64::from_le_bytes(*word)), after);
    }
    mix(hash, rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_bytes_of_any_length() {
        let text: [u8; 40] = core::array::from_fn(|at| 0x81 + u8::try_from(at).expect("40"));
        for length in 0..40 {
            let mut expected = [0; 16];
            let kept = length.min(16);
            expected[..kept].copy_from_slice(&text[..kept]);
            assert_eq!(first_16(&text[..length]), u128::from_le_bytes(expected), "{length}");
        }
    }

    #[test]
    fn keys_differ_where_pieces_do() {
        let texts: [&[u8]; 6] = [b"a", b"a\0", b"\0", b"\0\0", b"abcdefghijklmno", b"abcdefghijklmnopq"];
        let keys: std::vec::Vec<_> =
            texts.iter().filter_map(|text| Key::new(text, text.len())).map(|key| key.0).collect();
        assert_eq!(keys.len(), 5);
        assert!((1..5).all(|at| !keys[..at].contains(&keys[at])));
        // What follows the piece in the text takes no part.
        assert!(Key::new(b"ab the rest of it", 2) == Key::new(b"ab", 2));
        for text in texts.iter().filter(|text| text.len() <= SHORT) {
            let (key, part) =
                (Key::new(text, text.len()).expect("short"), Key::new(text, text.len()).expect("short").as_part());
            assert!(key != part && part.is_part() && !key.is_part() && !key.is_none());
            let (bytes, length) = part.bytes();
            assert_eq!((&bytes[..length], key.bytes()), (*text, part.bytes()));
            assert_eq!((key.is_ascii(), part.is_ascii()), (true, true));
        }
        assert!(!Key::new("é".as_bytes(), 2).expect("short").is_ascii());
    }
}
