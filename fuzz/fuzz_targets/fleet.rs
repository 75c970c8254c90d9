#![no_main]
use codemode::property;
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| property::fleet(bytes));
