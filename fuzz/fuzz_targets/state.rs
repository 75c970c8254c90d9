#![no_main]
use codemode::property;
libfuzzer_sys::fuzz_target!(|events: &[u8]| property::state(events));
