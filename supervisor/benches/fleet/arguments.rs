//! What can be said on the command line.

use std::path::PathBuf;

#[derive(Debug)]
pub struct Arguments {
    pub node: Option<PathBuf>,
    /// Runs of each body, each way.
    pub runs: usize,
    /// How long each throughput is measured.
    pub seconds: u64,
}

impl Arguments {
    pub fn parse(words: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let mut arguments = Arguments { node: None, runs: 500, seconds: 10 };
        // `cargo bench` adds it.
        let mut words = words.filter(|word| word != "--bench");
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} wants a value"));
            let number = |text: String| text.parse().map_err(|_| format!("{text} is no number"));
            match word.as_str() {
                "--node" => arguments.node = Some(value()?.into()),
                "--runs" => arguments.runs = number(value()?).and_then(|runs| usize::try_from(runs).map_err(|_| "too many".to_owned()))?,
                "--seconds" => arguments.seconds = number(value()?)?,
                _ => return Err(format!("{word} is not known; --node PATH, --runs N, --seconds N")),
            }
        }
        if arguments.runs == 0 || arguments.seconds == 0 {
            return Err("--runs and --seconds are at least 1".to_owned());
        }
        Ok(arguments)
    }
}
