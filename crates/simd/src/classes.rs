//! Which of 64 bytes are letters, digits, blanks: a bit for each byte. Only what the target always has is used: SSE2 on x86-64.

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 64;

/// For each class of ASCII a bit for each byte of a block, the first byte lowest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Classes {
    /// `A` to `Z` and `a` to `z`.
    pub letters: u64,
    /// `0` to `9`.
    pub digits: u64,
    /// U+0020.
    pub blanks: u64,
    /// U+000A and U+000D.
    pub newlines: u64,
    /// U+0009, U+000B and U+000C.
    pub tabs: u64,
    /// U+0027.
    pub apostrophes: u64,
    /// What is not ASCII.
    pub beyond: u64,
}

/// The classes of the bytes of a block.
#[inline]
#[must_use]
pub fn classes(block: &[u8; BLOCK_BYTES]) -> Classes {
    #[cfg(target_arch = "x86_64")]
    return of_registers(block);
    #[cfg(not(target_arch = "x86_64"))]
    of_bytes(block)
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn of_registers(block: &[u8; BLOCK_BYTES]) -> Classes {
    let mut all = Classes::default();
    for (part, sixteen) in block.chunks_exact(16).enumerate() {
        let Some(sixteen) = sixteen.first_chunk::<16>() else { break };
        let [letters, digits, blanks, newlines, spaces, apostrophes, beyond] = of_register(sixteen);
        let shift = 16 * part;
        all.letters |= u64::from(letters) << shift;
        all.digits |= u64::from(digits) << shift;
        all.blanks |= u64::from(blanks) << shift;
        all.newlines |= u64::from(newlines) << shift;
        all.tabs |= u64::from(spaces & !newlines) << shift;
        all.apostrophes |= u64::from(apostrophes) << shift;
        all.beyond |= u64::from(beyond) << shift;
    }
    all
}

/// Letters, digits, blanks, newlines, U+0009 to U+000D, apostrophes, and what is not ASCII, in 16 bits each.
#[cfg(target_arch = "x86_64")]
#[inline]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_possible_wrap)] // bits and bytes as they are
fn of_register(sixteen: &[u8; 16]) -> [u16; 7] {
    use core::arch::x86_64::{
        __m128i, _mm_add_epi8, _mm_cmpeq_epi8, _mm_cmplt_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128,
        _mm_set1_epi8,
    };
    // SAFETY: x86-64 has SSE2, and 16 bytes are read of 16, which needs no alignment.
    unsafe {
        let bytes = _mm_loadu_si128(sixteen.as_ptr().cast());
        let bits = |lanes: __m128i| _mm_movemask_epi8(lanes) as u16;
        // What is in a range comes to stand at the lowest signed numbers.
        let within = |lanes: __m128i, first: u8, count: i8| {
            let moved = _mm_add_epi8(lanes, _mm_set1_epi8(0x80_u8.wrapping_sub(first) as i8));
            _mm_cmplt_epi8(moved, _mm_set1_epi8(i8::MIN + count))
        };
        let is = |byte: u8| _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte as i8));
        [
            bits(within(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), b'a', 26)),
            bits(within(bytes, b'0', 10)),
            bits(is(b' ')),
            bits(_mm_or_si128(is(b'\n'), is(b'\r'))),
            bits(within(bytes, b'\t', 5)),
            bits(is(b'\'')),
            bits(bytes),
        ]
    }
}

/// The same, one byte after the other.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn of_bytes(block: &[u8; BLOCK_BYTES]) -> Classes {
    let mut all = Classes::default();
    for (place, byte) in block.iter().enumerate() {
        let class = match byte {
            b'a'..=b'z' | b'A'..=b'Z' => &mut all.letters,
            b'0'..=b'9' => &mut all.digits,
            b' ' => &mut all.blanks,
            b'\n' | b'\r' => &mut all.newlines,
            b'\t' | 0x0B | 0x0C => &mut all.tabs,
            b'\'' => &mut all.apostrophes,
            0x80.. => &mut all.beyond,
            _ => continue,
        };
        *class |= 1 << place;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_see_the_same() {
        for byte in 0..=u8::MAX {
            for place in 0..BLOCK_BYTES {
                let mut block = [b'!'; BLOCK_BYTES];
                block[place] = byte;
                assert_eq!(classes(&block), of_bytes(&block), "{byte} at {place}");
                let filled = [byte; BLOCK_BYTES];
                assert_eq!(classes(&filled), of_bytes(&filled), "{byte}");
            }
        }
    }
}
