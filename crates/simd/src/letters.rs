//! Runs of letters and of ASCII, sixteen bytes at a time. By `lanes` where there are some.

#[cfg(any(target_arch = "x86_64", all(target_arch = "wasm32", target_feature = "simd128")))]
use crate::lanes::{ascii_of_block, letters_of_block};
#[cfg(not(any(target_arch = "x86_64", all(target_arch = "wasm32", target_feature = "simd128"))))]
use words::{ascii_of_block, letters_of_block};

/// Bytes of a block.
const BLOCK: usize = 16;

/// How many of the first bytes of `text` are ASCII letters.
#[inline]
#[must_use]
pub fn leading_letters(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        let letters = letters_of_block(block);
        if letters < BLOCK {
            return at + letters;
        }
        at += BLOCK;
    }
    at + text.get(at..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_alphabetic()).count()
}

/// How many of the first bytes of `text` are ASCII.
#[inline]
#[must_use]
pub fn leading_ascii(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        let ascii = ascii_of_block(block);
        if ascii < BLOCK {
            return at + ascii;
        }
        at += BLOCK;
    }
    // The last block overlaps the one before it, and most often says all.
    if text.last_chunk().is_some_and(|block| ascii_of_block(block) == BLOCK) {
        return text.len();
    }
    at + text.get(at..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii()).count()
}

/// A block by numbers, where there are no lanes.
#[cfg(any(test, not(any(target_arch = "x86_64", all(target_arch = "wasm32", target_feature = "simd128")))))]
mod words {
    use super::BLOCK;

    /// A one in each byte.
    const EACH: u128 = u128::from_le_bytes([1; BLOCK]);

    #[inline]
    pub(super) fn ascii_of_block(block: &[u8; BLOCK]) -> usize {
        ((u128::from_le_bytes(*block) & (EACH * 0x80)).trailing_zeros() / 8) as usize
    }

    /// In each byte the top bit is set where it is no letter.
    #[inline]
    pub(super) fn letters_of_block(block: &[u8; BLOCK]) -> usize {
        let bytes = u128::from_le_bytes(*block);
        let low = (bytes | (EACH * 0x20)) & (EACH * 0x7F);
        // No sum of seven bits and these runs over into the next byte.
        let from_a = low + EACH * 0x1F;
        let beyond_z = low + EACH * 0x05;
        let others = (!from_a | beyond_z | bytes) & (EACH * 0x80);
        (others.trailing_zeros() / 8) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn every_place_of_a_byte_beyond_ascii_is_seen() {
        for length in 0..100 {
            assert_eq!(leading_ascii(&[0x7F; 100][..length]), length);
            for place in 0..length {
                let mut text = [b'a'; 100];
                text[place] = 0x80;
                assert_eq!(leading_ascii(&text[..length]), place);
                let block = text.first_chunk::<BLOCK>().expect("100 bytes");
                assert_eq!(ascii_of_block(block), words::ascii_of_block(block));
            }
        }
    }

    #[test]
    fn every_form_counts_the_same() {
        for byte in 0..=u8::MAX {
            for place in 0..40 {
                let mut text: Vec<u8> = (0..40).map(|at| if at % 3 == 0 { b'Z' } else { b'a' }).collect();
                text[place] = byte;
                let expected = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
                assert_eq!(leading_letters(&text), expected, "{byte} at {place}");
                let block = text.first_chunk::<BLOCK>().expect("40 bytes");
                assert_eq!(letters_of_block(block), expected.min(BLOCK), "{byte} at {place}");
                assert_eq!(words::letters_of_block(block), expected.min(BLOCK), "{byte} at {place}");
            }
        }
        assert_eq!((leading_letters(b""), leading_letters(b"abc"), leading_letters(b" a")), (0, 3, 0));
    }
}
