//! Loads, compares and maxima in wide registers, where the processor has them.
//!
//! The leaf of the house that may say `unsafe`. What it may do is narrow: loads, compares, masks, maxima and prefetches, never arithmetic
//! that rounds, so that no result depends on the processor. Each function has a plain twin, and tests compare both.

#![no_std]

#[cfg(test)]
extern crate std;

mod classes;
#[cfg(any(target_arch = "x86_64", all(target_arch = "wasm32", target_feature = "simd128")))]
mod lanes;
mod letters;
mod rows;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use classes::{BLOCK_BYTES, Classes, classes};
pub use letters::{leading_ascii, leading_letters};
pub use rows::{BLOCK, plain, survey};

/// Tell the processor that something will be read soon. It changes nothing but how long that takes.
#[inline]
pub fn prefetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing, and the place is one that could be read.
    unsafe {
        core::arch::x86_64::_mm_prefetch::<{ core::arch::x86_64::_MM_HINT_T0 }>(core::ptr::from_ref(place).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
