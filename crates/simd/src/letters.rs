//! Runs of letters and of ASCII, sixteen bytes at a time. Only what the target always has is used: SSE2 on x86-64.

/// Bytes of a block.
const BLOCK: usize = 16;

/// How many of the first bytes of `text` are ASCII letters.
#[inline]
#[must_use]
pub fn leading_letters(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        let letters = letters_of_block(block);
        at += letters;
        if letters < BLOCK {
            return at;
        }
    }
    at + text.get(at..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_alphabetic()).count()
}

/// How many of the first bytes of `text` are ASCII.
#[inline]
#[must_use]
pub fn leading_ascii(text: &[u8]) -> usize {
    const TOP: u128 = u128::from_le_bytes([0x80; BLOCK]);
    let mut at = 0;
    while let Some(block) = text.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        let beyond = u128::from_le_bytes(*block) & TOP;
        if beyond != 0 {
            return at + (beyond.trailing_zeros() / 8) as usize;
        }
        at += BLOCK;
    }
    at + text.get(at..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii()).count()
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn letters_of_block(block: &[u8; BLOCK]) -> usize {
    use core::arch::x86_64::{
        _mm_add_epi8, _mm_cmplt_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
    };
    /// Letters in lower case come to stand at the lowest signed numbers.
    const TO_LOWEST: i8 = i8::from_le_bytes([0x80 - b'a']);
    // SAFETY: x86-64 has SSE2, and 16 bytes are read of a block of 16, which needs no alignment.
    let others = unsafe {
        let bytes = _mm_loadu_si128(block.as_ptr().cast());
        let moved = _mm_add_epi8(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), _mm_set1_epi8(TO_LOWEST));
        !_mm_movemask_epi8(_mm_cmplt_epi8(moved, _mm_set1_epi8(i8::MIN + 26)))
    };
    // The mask has 16 bits: above them all are set.
    others.trailing_zeros() as usize
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn letters_of_block(block: &[u8; BLOCK]) -> usize {
    letters_of_words(block)
}

/// The same by two numbers of eight bytes: in each byte the top bit is set where it is no letter.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn letters_of_words(block: &[u8; BLOCK]) -> usize {
    const fn each(byte: u8) -> u128 {
        u128::from_le_bytes([byte; BLOCK])
    }
    let bytes = u128::from_le_bytes(*block);
    let low = (bytes | each(0x20)) & each(0x7F);
    // No sum of seven bits and these runs over into the next byte.
    let from_a = low + each(0x80 - b'a');
    let beyond_z = low + each(0x80 - b'z' - 1);
    let others = (!from_a | beyond_z | bytes) & each(0x80);
    (others.trailing_zeros() / 8) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

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
                assert_eq!(letters_of_words(block), expected.min(BLOCK), "{byte} at {place}");
            }
        }
        for length in 0..40 {
            let mut text = std::vec![b'a'; length];
            assert_eq!(leading_ascii(&text), length);
            text.extend([0x80; 20]);
            assert_eq!(leading_ascii(&text), length);
        }
        assert_eq!((leading_letters(b""), leading_letters(b"abc"), leading_letters(b" a")), (0, 3, 0));
    }
}
