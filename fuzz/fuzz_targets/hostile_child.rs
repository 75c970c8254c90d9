#![no_main]
use codemode_protocol::property;
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| property::hostile_child(bytes));
