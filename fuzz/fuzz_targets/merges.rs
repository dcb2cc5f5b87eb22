//! `cargo fuzz run --features libfuzzer merges`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| slm2_fuzz::targets::merges::run(data));
