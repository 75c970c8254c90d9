//! Colours, where a person looks at them.

use std::io::{self, IsTerminal};

/// Colours on or off for one stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paint {
    on: bool,
}

impl Paint {
    /// For standard error.
    pub(super) fn stderr() -> Paint {
        Paint { on: wanted(io::stderr().is_terminal()) }
    }

    /// For standard output.
    pub(super) fn stdout() -> Paint {
        Paint { on: wanted(io::stdout().is_terminal()) }
    }

    /// For tests and texts that go nowhere near a terminal.
    #[cfg(test)]
    pub(super) fn off() -> Paint {
        Paint { on: false }
    }

    pub(super) fn error(self, text: &str) -> String {
        self.with("1;31", text)
    }

    pub(super) fn warning(self, text: &str) -> String {
        self.with("33", text)
    }

    pub(super) fn name(self, text: &str) -> String {
        self.with("36", text)
    }

    pub(super) fn strong(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(super) fn aside(self, text: &str) -> String {
        self.with("2", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.on && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// `NO_COLOR` counts when it says anything; a terminal that calls itself dumb shows the codes as they are.
fn wanted(is_terminal: bool) -> bool {
    let says = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    is_terminal && says("NO_COLOR").is_none() && says("TERM").is_none_or(|term| term != "dumb")
}

/// Columns of the terminal that a person looks at; 80 when nobody says. Narrower than 40 is taken for 40: a table needs some room.
pub(super) fn columns() -> usize {
    const USUAL: usize = 80;
    const LEAST: usize = 40;
    terminal_size::terminal_size().map_or(USUAL, |(width, _)| usize::from(width.0)).max(LEAST)
}
