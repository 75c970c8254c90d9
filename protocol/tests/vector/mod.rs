//! Reads the conversations of `vectors/`; `vectors/README.md` has the format.

mod gateway;

use std::fs;
use std::path::{Path, PathBuf};

use codemode_protocol::{FrameLimit, Limit, RunLimits};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Conversation<E> {
    pub about: String,
    pub violation: Option<Expected>,
    #[serde(default)]
    limits: Map<String, Value>,
    frame_limit: Option<u32>,
    pub steps: Vec<Step<E>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    pub step: usize,
    pub kind: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step<E> {
    pub from: E,
    pub json: Option<Value>,
    text: Option<String>,
    parts: Option<Vec<(String, usize)>>,
    hex: Option<String>,
    #[serde(default)]
    pub eof: bool,
    #[serde(default = "once")]
    times: usize,
}

fn once() -> usize {
    1
}

impl<E> Conversation<E> {
    pub fn limits(&self) -> RunLimits {
        let mut limits = RunLimits::default();
        for (name, value) in &self.limits {
            let limit = Limit::ALL.into_iter().find(|limit| limit.name() == name).expect("the name of a limit");
            limits = limits.with(limit, value.as_u64().expect("a number")).expect("inside its bounds");
        }
        limits
    }

    pub fn frame_limit(&self) -> FrameLimit {
        self.frame_limit.map_or(self.limits().frame_limit(), |bytes| FrameLimit::new(bytes).expect("a frame limit"))
    }
}

impl<E> Step<E> {
    /// The bytes on the wire. A frame of the vectors may be longer than any limit, so the length is not checked here.
    pub fn bytes(&self) -> Vec<u8> {
        let text = match (&self.json, &self.text, &self.parts, &self.hex, self.eof) {
            (Some(json), None, None, None, false) => json.to_string(),
            (None, Some(text), None, None, false) => text.clone(),
            (None, None, Some(parts), None, false) => parts.iter().map(|(part, times)| part.repeat(*times)).collect(),
            (None, None, None, Some(hex), false) => return unhex(hex).repeat(self.times),
            (None, None, None, None, true) => return Vec::new(),
            _ => panic!("a step has one of json, text, parts, hex and eof"),
        };
        let length = u32::try_from(text.len()).expect("a vector is small").to_be_bytes();
        [&length[..], text.as_bytes()].concat().repeat(self.times)
    }
}

fn unhex(hex: &str) -> Vec<u8> {
    assert!(hex.len().is_multiple_of(2) && hex.is_ascii(), "whole bytes");
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal digits")).collect()
}

/// Every conversation of a folder with its name, in the order of names.
pub fn read<E: DeserializeOwned>(folder: &str) -> Vec<(String, Conversation<E>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors").join(folder);
    let entries = fs::read_dir(&folder).expect("the folder of the vectors");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        assert!(name.ends_with(".json"), "{name} is no vector");
        let text = fs::read_to_string(&path).expect("a readable file");
        let conversation = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        (name, conversation)
    };
    paths.into_iter().map(read).collect()
}
