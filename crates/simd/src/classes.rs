//! Which of 64 bytes are letters, digits, blanks: a bit for each byte. By `lanes` where there are some.

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
    #[cfg(any(target_arch = "x86_64", all(target_arch = "wasm32", target_feature = "simd128")))]
    return of_registers(block);
    #[cfg(not(any(target_arch = "x86_64", all(target_arch = "wasm32", target_feature = "simd128"))))]
    of_bytes(block)
}

#[cfg(any(target_arch = "x86_64", all(target_arch = "wasm32", target_feature = "simd128")))]
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
#[cfg(any(target_arch = "x86_64", all(target_arch = "wasm32", target_feature = "simd128")))]
#[inline]
fn of_register(sixteen: &[u8; 16]) -> [u16; 7] {
    use crate::lanes::{either, is, letters, load, top_bits, within};
    let bytes = load(sixteen);
    let lanes = [
        letters(bytes),
        within(bytes, b'0', 10),
        is(bytes, b' '),
        either(is(bytes, b'\n'), is(bytes, b'\r')),
        within(bytes, b'\t', 5),
        is(bytes, b'\''),
        bytes,
    ];
    lanes.map(top_bits)
}

/// The same, one byte after the other.
#[cfg(any(test, not(any(target_arch = "x86_64", all(target_arch = "wasm32", target_feature = "simd128")))))]
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
