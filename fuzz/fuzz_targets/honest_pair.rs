#![no_main]
use codemode_protocol::property;
libfuzzer_sys::fuzz_target!(|steps: &[u8]| property::honest_pair(steps));
