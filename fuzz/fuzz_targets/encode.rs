//! `cargo fuzz run --features libfuzzer encode`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| slm2_fuzz::targets::encode::run(data));
