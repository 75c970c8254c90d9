//! What the command line asks for.

use std::path::PathBuf;

/// The command line.
#[derive(Clone, Debug)]
pub struct Arguments {
    /// The Nodes, side by side.
    pub nodes: Vec<PathBuf>,
    /// How often each piece of work is done.
    pub rounds: usize,
    /// A missed target is a failure.
    pub strict: bool,
}

const ROUNDS: usize = 200;
const USAGE: &str = "usage: side_by_side [--node PATH]... [--rounds N] [--strict]\nwithout --node: the list in CODEMODE_NODES, else CODEMODE_NODE, else node on the PATH";

impl Arguments {
    /// Reads the words after the program's name.
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let mut arguments = Arguments { nodes: Vec::new(), rounds: ROUNDS, strict: false };
        let mut words = words;
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} wants a value\n{USAGE}"));
            match word.as_str() {
                "--node" => arguments.nodes.push(value()?.into()),
                "--rounds" => {
                    let text = value()?;
                    let rounds = text.parse().ok().filter(|rounds| *rounds > 0);
                    arguments.rounds = rounds.ok_or_else(|| format!("--rounds {text}: not a number of rounds\n{USAGE}"))?;
                }
                "--strict" => arguments.strict = true,
                // Cargo says so to every benchmark.
                "--bench" => {}
                _ => return Err(format!("{word}: not understood\n{USAGE}")),
            }
        }
        if arguments.nodes.is_empty() {
            arguments.nodes = usual_nodes()?;
        }
        for node in &mut arguments.nodes {
            *node = node.canonicalize().map_err(|error| format!("{}: {error}", node.display()))?;
        }
        Ok(arguments)
    }
}

fn usual_nodes() -> Result<Vec<PathBuf>, String> {
    let list = |name| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    if let Some(value) = list("CODEMODE_NODES").or_else(|| list("CODEMODE_NODE")) {
        return Ok(value.split([':', ' ']).filter(|path| !path.is_empty()).map(PathBuf::from).collect());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("node")).find(|file| file.is_file());
    Ok(vec![found.ok_or_else(|| format!("no node on the PATH\n{USAGE}"))?])
}
