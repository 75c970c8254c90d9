//! Counters of a process, as Prometheus reads them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A counter's name and its labels, which are words of ours and never of a tool or a body.
type Key = (&'static str, Vec<(&'static str, &'static str)>);

/// What a counter counts, for the text.
const HELP: [(&str, &str); 8] = [
    ("codemode_surface_bytes_total", "Bytes of tool definitions and directories that were sent to models."),
    ("codemode_surface_direct_bytes_total", "Bytes that direct exposure would have sent."),
    ("codemode_surfaces_total", "Surfaces made, by what was shown."),
    ("codemode_runs_total", "Bodies run, by verdict."),
    ("codemode_run_seconds_total", "Time that bodies took, launch included."),
    ("codemode_searches_total", "Searches, by whether anything was found."),
    ("codemode_describes_total", "Descriptions, by state."),
    ("codemode_calls_total", "Calls, by source and state."),
];

/// Counters. Cheap to share; nothing in them grows with use.
#[derive(Debug, Default)]
pub struct Counters(Mutex<BTreeMap<Key, f64>>);

impl Counters {
    /// All at zero.
    pub fn new() -> Counters {
        Counters::default()
    }

    pub(super) fn add(&self, name: &'static str, labels: &[(&'static str, &'static str)], amount: f64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry((name, labels.to_vec())).or_default() += amount;
    }

    /// Counts a body.
    pub fn count_run(&self, verdict: &'static str, took: Duration) {
        self.add("codemode_runs_total", &[("verdict", verdict)], 1.0);
        self.add("codemode_run_seconds_total", &[], took.as_secs_f64());
    }

    /// Counts a request that is over.
    pub fn count_request(&self, method: &'static str, source: Option<&'static str>, state: &'static str) {
        match method {
            "describe" => self.add("codemode_describes_total", &[("state", state)], 1.0),
            "call" => self.add("codemode_calls_total", &[("source", source.unwrap_or("none")), ("state", state)], 1.0),
            _ => {}
        }
    }

    /// The counters in Prometheus' text format.
    pub fn prometheus(&self) -> String {
        let counters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        for (name, help) in HELP {
            let mut own = counters.iter().filter(|((counter, _), _)| *counter == name).peekable();
            if own.peek().is_some() {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} counter");
            }
            for ((_, labels), value) in own {
                let labels = labels.iter().map(|(key, value)| format!("{key}=\"{value}\"")).collect::<Vec<_>>().join(",");
                let braces = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
                let _ = writeln!(text, "{name}{braces} {value}");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_read_as_prometheus_text() {
        let counters = Counters::new();
        assert_eq!(counters.prometheus(), "");
        counters.count_request("call", Some("mcp"), "ok");
        counters.count_request("call", Some("mcp"), "ok");
        counters.count_request("call", None, "denied");
        counters.count_run("timeout", Duration::from_millis(1_500));
        assert_eq!(
            counters.prometheus(),
            "# HELP codemode_runs_total Bodies run, by verdict.\n# TYPE codemode_runs_total counter\ncodemode_runs_total{verdict=\"timeout\"} 1\n\
             # HELP codemode_run_seconds_total Time that bodies took, launch included.\n# TYPE codemode_run_seconds_total counter\ncodemode_run_seconds_total 1.5\n\
             # HELP codemode_calls_total Calls, by source and state.\n# TYPE codemode_calls_total counter\ncodemode_calls_total{source=\"mcp\",state=\"ok\"} 2\n\
             codemode_calls_total{source=\"none\",state=\"denied\"} 1\n"
        );
    }
}
