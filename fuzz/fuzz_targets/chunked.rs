//! `cargo fuzz run --features libfuzzer chunked`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| slm2_fuzz::targets::chunked::run(data));
