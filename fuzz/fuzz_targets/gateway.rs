#![no_main]
use codemode_protocol::property;
libfuzzer_sys::fuzz_target!(|stream: &[u8]| property::gateway_stream(stream));
