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
#[cfg(any(target_arch = "x86_64", all(target_arch = "wasm32", target_feature = "simd128")))]
#[inline]
#[must_use]
pub fn classes(block: &[u8; BLOCK_BYTES]) -> Classes {
    use crate::lanes::{either, is, letters, load, top_bits, within};
    let mut all = Classes::default();
    for (part, sixteen) in block.chunks_exact(16).filter_map(<[u8]>::first_chunk).enumerate() {
        let bytes = load(sixteen);
        let to = |bits: &mut u64, lanes| *bits |= u64::from(top_bits(lanes)) << (16 * part);
        to(&mut all.letters, letters(bytes));
        to(&mut all.digits, within(bytes, b'0', 10));
        to(&mut all.blanks, is(bytes, b' '));
        to(&mut all.newlines, either(is(bytes, b'\n'), is(bytes, b'\r')));
        to(&mut all.tabs, within(bytes, b'\t', 5));
        to(&mut all.apostrophes, is(bytes, b'\''));
        to(&mut all.beyond, bytes);
    }
    all.tabs &= !all.newlines;
    all
}

#[cfg(not(any(target_arch = "x86_64", all(target_arch = "wasm32", target_feature = "simd128"))))]
/// The classes of the bytes of a block.
#[inline]
#[must_use]
pub fn classes(block: &[u8; BLOCK_BYTES]) -> Classes {
    of_bytes(block)
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
