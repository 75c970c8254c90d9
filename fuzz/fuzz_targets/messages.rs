#![no_main]
use codemode_protocol::property;
libfuzzer_sys::fuzz_target!(|text: &str| property::text_is_read_or_refused(text));
