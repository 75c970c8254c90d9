#![no_main]
use codemode::property;
libfuzzer_sys::fuzz_target!(|text: &str| property::catalog_file(text));
