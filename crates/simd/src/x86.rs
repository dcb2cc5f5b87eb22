//! AVX2 for what [`crate::plain`] does, asked for once.

use core::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
use core::sync::atomic::{AtomicU8, Ordering};

const UNKNOWN: u8 = 0;
const ABSENT: u8 = 1;
const PRESENT: u8 = 2;

/// What the processor said; every thread would get the same answer.
static AVX2: AtomicU8 = AtomicU8::new(UNKNOWN);

/// `None` where the processor or the system has no AVX2.
pub(crate) fn survey(row: &[f32], maxima: &mut [f32]) -> Option<u32> {
    // SAFETY: the processor has AVX2 and the system keeps its registers, as is asked before.
    has_avx2().then(|| unsafe { survey_avx2(row, maxima) })
}

/// # Safety
/// The processor must have AVX2, and the system must keep its registers.
#[target_feature(enable = "avx2")]
unsafe fn survey_avx2(row: &[f32], maxima: &mut [f32]) -> u32 {
    crate::plain::survey(row, maxima)
}

fn has_avx2() -> bool {
    let known = AVX2.load(Ordering::Relaxed);
    if known != UNKNOWN {
        return known == PRESENT;
    }
    let found = detect_avx2();
    AVX2.store(if found { PRESENT } else { ABSENT }, Ordering::Relaxed);
    found
}

/// As Intel's manual has it (volume 1, 14.7.1): the processor has it, the system uses XSAVE, and saves the upper halves.
#[allow(unused_unsafe)] // later compilers have made `__cpuid` safe
fn detect_avx2() -> bool {
    const OSXSAVE_AND_AVX: u32 = 1 << 27 | 1 << 28;
    const XMM_AND_YMM: u64 = 0b110;
    const AVX2_BIT: u32 = 1 << 5;
    // SAFETY: every x86-64 processor has CPUID.
    let (highest, features) = unsafe { (__cpuid(0).eax, __cpuid(1).ecx) };
    if highest < 7 || features & OSXSAVE_AND_AVX != OSXSAVE_AND_AVX {
        return false;
    }
    // SAFETY: OSXSAVE says that XGETBV may be used; leaf 7 is there.
    unsafe { saved_registers() & XMM_AND_YMM == XMM_AND_YMM && __cpuid_count(7, 0).ebx & AVX2_BIT != 0 }
}

/// # Safety
/// CPUID must say OSXSAVE.
#[target_feature(enable = "xsave")]
unsafe fn saved_registers() -> u64 {
    // SAFETY: the caller has asked.
    unsafe { _xgetbv(0) }
}
