//! `cargo fuzz run --features libfuzzer decode`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| slm2_fuzz::targets::decode::run(data));
