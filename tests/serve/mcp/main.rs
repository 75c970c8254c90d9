//! `codemode mcp` as an MCP client meets it: the built program, its lines and its HTTP, byte by byte.

mod asking;
mod behind;
mod ending;
mod fresh;
mod hostile;
mod hostile_http;
mod http;
mod lines;
mod modes;
mod news;
mod protocol;
mod web;

use std::path::PathBuf;

use codemode_tests::binary::demo;

/// The words of a server with the demo catalog.
fn words(more: &[&str]) -> Vec<String> {
    let launcher = std::env::var("CODEMODE_LAUNCHER").unwrap_or_else(|_| "spawn".to_owned());
    let tools = demo().display().to_string();
    let usual = ["mcp".to_owned(), "--tools".to_owned(), tools, "--launcher".to_owned(), launcher];
    usual.into_iter().chain(more.iter().map(|word| (*word).to_owned())).collect()
}

/// A file with these tools, in a folder that goes with what is returned.
fn catalog(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("tools.json5");
    std::fs::write(&file, text).expect("it is ours");
    (folder, file)
}
