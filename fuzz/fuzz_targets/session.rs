//! `cargo fuzz run --features libfuzzer session`
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| slm2_fuzz::targets::session::run(data));
