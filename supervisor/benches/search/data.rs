//! The tools and questions: third-party data outside the repository, and questions of our own in it.

use std::path::PathBuf;
use std::sync::Arc;

use codemode::catalog::{FileCatalog, Source, Tool};
use serde::Deserialize;
use sha2::{Digest, Sha256};

#[derive(Deserialize)]
pub struct Question {
    pub query: String,
    /// Any of these is right.
    pub relevant: Vec<String>,
}

/// A task that needs several tools.
#[derive(Deserialize)]
pub struct Task {
    pub query: String,
    /// For each tool that is needed the ids that are it.
    pub tools: Vec<Vec<String>>,
}

impl Question {
    /// The part of `parts` that it belongs to: by its tool, so that no tool has questions in two.
    pub fn part(&self, parts: u8) -> u8 {
        let first = self.relevant.iter().min().map_or("", String::as_str);
        Sha256::digest(format!("h{first}"))[0] % parts
    }
}

fn repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn third_party(file: &str) -> PathBuf {
    let folder = std::env::var_os("CODEMODE_DATA").map_or_else(|| repository("../shared/data"), PathBuf::from);
    let path = folder.join("tools").join(file);
    assert!(path.is_file(), "{} is missing; set CODEMODE_DATA to the folder with tools/{file}", path.display());
    path
}

fn lines<T: for<'a> Deserialize<'a>>(path: PathBuf) -> Vec<T> {
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{}: {error}", path.display()))).collect()
}

pub fn dev() -> Vec<Question> {
    lines(third_party("queries-dev.jsonl"))
}

pub fn own() -> Vec<Question> {
    lines(repository("tests/catalog/questions.jsonl"))
}

pub fn tasks() -> Vec<Task> {
    lines(third_party("tasks-livemcp.jsonl"))
}

pub fn tools() -> FileCatalog {
    FileCatalog::open(third_party("catalog.json")).unwrap_or_else(|error| panic!("{error}"))
}

/// `count` tools that no index has read: the same ones again and again, from other servers each time.
pub fn fresh(catalog: &FileCatalog, count: usize) -> Vec<Arc<Tool>> {
    let tools = catalog.tools().tools();
    let fresh = |number: usize| {
        let (tool, round) = (&tools[number % tools.len()], number / tools.len());
        let copy = |source: Source, source_name: String| {
            Tool::new(source, source_name, tool.name.as_str(), tool.description.as_str(), tool.parameters.value().clone())
        };
        Arc::new(match round {
            0 => copy(tool.source, tool.source_name.clone()).with_id(tool.id.as_str()),
            _ => copy(tool.source, format!("{}-{round}", tool.source_name)),
        })
    };
    (0..count).map(fresh).collect()
}
