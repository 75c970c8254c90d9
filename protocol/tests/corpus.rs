//! Replays the kept inputs of the fuzz targets, so that what was found once stays found without a fuzzer.

use std::fs;
use std::path::Path;

use codemode_protocol::property;

/// Runs a property over every input of a target; a target without inputs is a mistake.
fn replay(target: &str, property: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let mut count = 0;
    for entry in fs::read_dir(&folder).expect("the corpus of the target") {
        let path = entry.expect("an entry").path();
        property(&fs::read(&path).expect("a readable input"));
        count += 1;
    }
    assert!(count >= 5, "only {count} inputs for {target}");
}

#[test]
fn frames() {
    replay("frames", property::decode_cut_by_its_own_head);
}

#[test]
fn messages() {
    replay("messages", |input| property::text_is_read_or_refused(&String::from_utf8_lossy(input)));
}

#[test]
fn hostile_child() {
    replay("hostile_child", property::hostile_child);
}

#[test]
fn honest_pair() {
    replay("honest_pair", property::honest_pair);
}

#[test]
fn gateway() {
    replay("gateway", property::gateway_stream);
}
