//! `cargo fuzz run --features libfuzzer artifact`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| slm2_fuzz::targets::artifact::run(data));
