//! After its first step a sampler allocates nothing, whatever the row.

#![cfg(feature = "conformance")]
#![allow(clippy::expect_used)] // a test stops at what is not as it must be
#![allow(unsafe_code)] // an allocator cannot be written without

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use slm2_core::Profile;
use slm2_core::sampling::{Recipe, Sampler, SamplingConfig, Seed, WIDTH};

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn config(profile: Profile, top_k: u32, top_p: f64) -> SamplingConfig {
    let seed = match profile {
        Profile::Contract => Seed::Pcg32 { seed: 1, stream: 0 },
        Profile::Publisher => Seed::Mt19937Torch { seed: 1 },
    };
    SamplingConfig {
        profile,
        temperature: 0.7,
        top_k,
        top_p,
        min_p: 0.01,
        repetition_penalty: 1.1,
        seed,
        logit_bias: vec![(5, 1.0)],
        banned_ids: vec![9],
        presence_penalty: 0.1,
        frequency_penalty: 0.1,
    }
}

/// One test, since another one beside it would allocate as well.
#[test]
fn nothing_is_allocated_after_the_first_step() {
    let mut rows = vec![vec![0.0_f32; WIDTH]; 30];
    for (step, row) in (0..).zip(&mut rows) {
        // The first row is flat, so that the room that it needs is the most there is: all ids tie, and all are kept.
        if step > 0 {
            Recipe { seed: 3, step, scale: 1.0, head: 9.0, bfloat16: step % 2 == 0 }.write(row);
        }
    }
    let allowed = vec![0xff_u8; WIDTH / 8];
    for profile in [Profile::Contract, Profile::Publisher] {
        for (top_k, top_p) in [(20, 0.95), (20, 1.0), (0, 0.95), (0, 1.0), (1000, 0.5)] {
            let mut sampler = Sampler::new(config(profile, top_k, top_p), &[1, 2, 3], 100).expect("good");
            let mut counts = Vec::with_capacity(rows.len());
            for row in &rows {
                let before = ALLOCATIONS.load(Ordering::Relaxed);
                sampler.sample(row, Some(&allowed), 5).expect("drawn");
                counts.push(ALLOCATIONS.load(Ordering::Relaxed) - before);
            }
            assert!(counts[0] > 0, "the allocator counts");
            assert_eq!(counts[1..].iter().sum::<usize>(), 0, "{profile:?} top_k {top_k} top_p {top_p}: {counts:?}");
        }
    }
}
