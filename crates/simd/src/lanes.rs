//! Sixteen bytes at once, by what the target always has: SSE2 on x86-64, simd128 where WebAssembly is compiled with it. Each function says
//! something of each byte: all bits of its lane are set where it holds.

#[cfg(target_arch = "x86_64")]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_possible_wrap)] // bits and bytes as they are
mod target {
    use core::arch::x86_64 as x86;

    pub(crate) type Lanes = x86::__m128i;

    #[inline]
    pub(crate) fn load(sixteen: &[u8; 16]) -> Lanes {
        // SAFETY: x86-64 has SSE2, here and below, and 16 bytes are read of 16, which needs no alignment.
        unsafe { x86::_mm_loadu_si128(sixteen.as_ptr().cast()) }
    }

    #[inline]
    pub(crate) fn either(first: Lanes, second: Lanes) -> Lanes {
        unsafe { x86::_mm_or_si128(first, second) }
    }

    #[inline]
    pub(crate) fn each(byte: u8) -> Lanes {
        unsafe { x86::_mm_set1_epi8(byte as i8) }
    }

    #[inline]
    pub(crate) fn is(bytes: Lanes, byte: u8) -> Lanes {
        unsafe { x86::_mm_cmpeq_epi8(bytes, each(byte)) }
    }

    #[inline]
    pub(crate) fn within(bytes: Lanes, first: u8, count: u8) -> Lanes {
        // What is in the range comes to stand at the lowest signed numbers.
        unsafe { x86::_mm_cmplt_epi8(x86::_mm_add_epi8(bytes, each(0x80_u8.wrapping_sub(first))), each(0x80 + count)) }
    }

    #[inline]
    pub(crate) fn top_bits(bytes: Lanes) -> u16 {
        unsafe { x86::_mm_movemask_epi8(bytes) as u16 }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod target {
    use core::arch::wasm32::{u8x16_bitmask, u8x16_eq, u8x16_lt, u8x16_splat, u8x16_sub, v128, v128_load, v128_or};

    pub(crate) type Lanes = v128;

    #[inline]
    pub(crate) fn load(sixteen: &[u8; 16]) -> Lanes {
        // SAFETY: 16 bytes are read of 16, which needs no alignment.
        unsafe { v128_load(sixteen.as_ptr().cast()) }
    }

    #[inline]
    pub(crate) fn either(first: Lanes, second: Lanes) -> Lanes {
        v128_or(first, second)
    }

    #[inline]
    pub(crate) fn each(byte: u8) -> Lanes {
        u8x16_splat(byte)
    }

    #[inline]
    pub(crate) fn is(bytes: Lanes, byte: u8) -> Lanes {
        u8x16_eq(bytes, each(byte))
    }

    #[inline]
    pub(crate) fn within(bytes: Lanes, first: u8, count: u8) -> Lanes {
        u8x16_lt(u8x16_sub(bytes, each(first)), each(count))
    }

    #[inline]
    pub(crate) fn top_bits(bytes: Lanes) -> u16 {
        u8x16_bitmask(bytes)
    }
}

use target::{Lanes, each};
pub(crate) use target::{either, is, load, top_bits, within};

/// ASCII letters.
#[inline]
pub(crate) fn letters(bytes: Lanes) -> Lanes {
    within(either(bytes, each(0x20)), b'a', 26)
}

/// How many of the first bytes of a block are ASCII.
#[inline]
pub(crate) fn ascii_of_block(block: &[u8; 16]) -> usize {
    top_bits(load(block)).trailing_zeros() as usize
}

/// How many of them are ASCII letters.
#[inline]
pub(crate) fn letters_of_block(block: &[u8; 16]) -> usize {
    top_bits(letters(load(block))).trailing_ones() as usize
}
