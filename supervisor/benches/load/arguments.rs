//! What the command line asks for.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::mix::Bodies;
use crate::way::WayName;

/// The command line.
#[derive(Clone, Debug)]
pub struct Arguments {
    /// The Node; `None`: the one that codemode finds.
    pub node: Option<PathBuf>,
    /// How many at once, row by row.
    pub callers: Vec<usize>,
    /// How they reach a supervisor.
    pub ways: Vec<WayName>,
    /// How long each of the two measurements of a row takes, all rounds together.
    pub each: Duration,
    /// In so many parts, all rows of a way one after the other each time: what else this machine does meets all of them.
    pub rounds: usize,
    /// What well-behaved bodies are like.
    pub bodies: Bodies,
    /// No other than those.
    pub well_behaved: bool,
    /// So many runs one after the other and 8 at a time, in place of all that.
    pub soak: Option<u64>,
    /// A missed target is a failure.
    pub strict: bool,
}

const USAGE: &str = "usage: load [--node PATH] [--callers N,N,…] [--way library,socket,mcp] [--seconds N] [--rounds N] [--bodies usual|waiting] [--well-behaved] [--minute] [--soak RUNS] [--strict]";

/// With two measurements of this length in four rows, a way takes one and a half minutes.
const USUAL_SECONDS: u64 = 7;

/// An odd number has a median.
const USUAL_ROUNDS: usize = 3;

/// Of `--minute`: in three rounds, each measurement with a second before it, three ways take 72 s. One round would be quicker, and say more about the machine.
const MINUTE: (&[usize], Duration) = (&[8, 128], Duration::from_secs(3));

impl Arguments {
    /// Reads the words after the program's name.
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let mut arguments = Arguments {
            node: None,
            callers: vec![1, 8, 32, 128],
            ways: vec![WayName::Library],
            each: Duration::from_secs(USUAL_SECONDS),
            rounds: USUAL_ROUNDS,
            bodies: Bodies::Usual,
            well_behaved: false,
            soak: None,
            strict: false,
        };
        let mut words = words;
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} wants a value\n{USAGE}"));
            match word.as_str() {
                "--node" => arguments.node = Some(value()?.into()),
                "--callers" => arguments.callers = list(&value()?)?,
                "--way" => arguments.ways = list(&value()?)?,
                "--seconds" => arguments.each = Duration::from_secs(number(&value()?)?),
                "--rounds" => arguments.rounds = usize::try_from(number(&value()?)?).unwrap_or(usize::MAX),
                "--bodies" => {
                    let word = value()?;
                    arguments.bodies = word.parse().map_err(|()| format!("{word}: not understood\n{USAGE}"))?;
                }
                "--well-behaved" => arguments.well_behaved = true,
                "--minute" => {
                    let (callers, each) = MINUTE;
                    arguments = Arguments { callers: callers.into(), ways: WayName::ALL.into(), each, rounds: USUAL_ROUNDS, ..arguments };
                }
                "--soak" => arguments.soak = Some(number(&value()?)?),
                "--strict" => arguments.strict = true,
                // Cargo says so to every benchmark.
                "--bench" => {}
                _ => return Err(format!("{word}: not understood\n{USAGE}")),
            }
        }
        Ok(arguments)
    }
}

fn list<T: FromStr>(text: &str) -> Result<Vec<T>, String> {
    text.split(',').map(|word| word.parse().map_err(|_| format!("{word}: not understood\n{USAGE}"))).collect()
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| format!("{text}: not a number above 0\n{USAGE}"))
}
