//! What a stand-in for Node does, step by step: the wire in the hands of somebody hostile.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tempfile::TempDir;

/// One step.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Writes bytes, in hexadecimal digits, this many times.
    Write {
        /// The bytes.
        hex: String,
        /// How often.
        times: usize,
        /// Bytes to a write; 0 for all at once.
        piece: usize,
    },
    /// Writes bytes until nobody takes them any more.
    WriteForEver {
        /// The bytes.
        hex: String,
    },
    /// Writes bytes with that many open descriptors beside them.
    Descriptors {
        /// The bytes, in hexadecimal digits.
        hex: String,
        /// How many.
        count: usize,
    },
    /// Reads one frame.
    Read,
    /// Reads to end-of-file.
    ReadToEnd,
    /// Writes this many bytes to descriptor 2.
    Stderr(usize),
    /// Says that it will not write any more, and goes on.
    ShutWrite,
    /// Says that it will not read any more, and goes on.
    ShutRead,
    /// Closes the bridge, and goes on.
    Close,
    /// Waits this many milliseconds.
    Pause(u64),
    /// Computes for ever.
    Spin,
    /// Waits for ever.
    Sleep,
    /// Exits.
    Exit(i32),
    /// Sends itself a signal.
    Raise(i32),
}

/// Steps for `scripted_child`, which it reads from a file.
#[derive(Debug, Default)]
pub struct Script {
    steps: Vec<Step>,
}

/// A script on disk.
#[derive(Debug)]
pub struct Written {
    _folder: TempDir,
    path: PathBuf,
}

impl Written {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A text as a frame.
///
/// # Panics
///
/// When it has no length of 32 bits.
pub fn framed(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).expect("a short text");
    [&length.to_be_bytes()[..], text.as_bytes()].concat()
}

/// The first message of an honest child.
pub fn hello() -> Value {
    json!({"jsonrpc": "2.0", "method": "hello", "params": {"protocol": 1, "node": "v24.0.0"}})
}

/// A call of a tool.
pub fn call(id: u64, tool: &str, args: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "openclaw.tools.call", "params": {"id": tool, "args": args}})
}

/// An answer to the run.
pub fn answer(value: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "result": {"value": value, "valueType": "number"}})
}

/// A console entry.
pub fn console(text: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": "console", "params": {"level": "log", "text": text}})
}

impl Script {
    /// Does nothing: exits with 0.
    pub fn new() -> Script {
        Script::default()
    }

    /// Says hello and takes the run request, as an honest child does.
    pub fn greeted() -> Script {
        Script::new().send(&hello()).step(Step::Read)
    }

    /// One more step.
    #[must_use]
    pub fn step(mut self, step: Step) -> Script {
        self.steps.push(step);
        self
    }

    /// Sends a message.
    #[must_use]
    pub fn send(self, message: &Value) -> Script {
        self.bytes(&framed(&message.to_string()))
    }

    /// Sends bytes.
    #[must_use]
    pub fn bytes(self, bytes: &[u8]) -> Script {
        self.pieces(bytes, 0)
    }

    /// Sends bytes, so many to a write.
    #[must_use]
    pub fn pieces(self, bytes: &[u8], piece: usize) -> Script {
        let hex = hex(bytes);
        self.step(Step::Write { hex, times: 1, piece })
    }

    /// Puts it where the stand-in can read it.
    ///
    /// # Panics
    ///
    /// When there is no temporary folder.
    pub fn write(&self) -> Written {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("script.json");
        let text = serde_json::to_vec(&self.steps).expect("steps are JSON");
        std::fs::write(&path, text).expect("it can be written");
        Written { _folder: folder, path }
    }
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |half: u8| char::from(DIGITS[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The bytes of hexadecimal digits.
///
/// # Panics
///
/// When they are none.
pub fn unhex(text: &str) -> Vec<u8> {
    let half = |digit: u8| {
        let value = char::from(digit).to_digit(16).expect("a hexadecimal digit");
        u8::try_from(value).expect("four bits")
    };
    text.as_bytes().chunks(2).map(|pair| half(pair[0]) << 4 | half(pair[1])).collect()
}
