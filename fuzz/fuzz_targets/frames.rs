#![no_main]
use codemode_protocol::property;
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| property::decode_cut_by_its_own_head(bytes));
