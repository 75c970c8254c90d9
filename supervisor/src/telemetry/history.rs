//! What a session's log says, read again.
//!
//! A log may have been written by anybody and cut anywhere: lines that are no events are counted and passed over, and every length is bounded.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Bytes of one line at most; a longer one is no event of ours.
const MAX_LINE: u64 = 1 << 20;
/// Events that are read. A session of a day has some thousands.
const MAX_EVENTS: u64 = 1_000_000;

/// A log cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the session log {} cannot be read: {source}", path.display())]
pub struct HistoryError {
    /// Where it was looked for.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

/// What happened in a session, in the order of its log.
#[derive(Debug, Default)]
pub struct History {
    /// What models were shown.
    pub surfaces: Vec<NotedSurface>,
    /// Bodies, and turns of structured calls.
    pub runs: Vec<NotedRun>,
    /// Lines that are no events.
    pub unreadable: u64,
    /// Events that the log says were lost.
    pub lost: u64,
    by_run: HashMap<String, usize>,
}

/// What a model was shown.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "as in the note of a surface")]
pub struct NotedSurface {
    pub at: u64,
    pub session: String,
    pub shown: String,
    pub reason: Option<String>,
    pub definitions: u64,
    pub schemas_up_front: u64,
    pub bytes_sent: u64,
    pub bytes_direct: u64,
    pub catalog_size: u64,
}

/// A body, or a turn of structured calls.
#[derive(Clone, Debug, Default)]
pub struct NotedRun {
    /// When it began, in milliseconds since 1970.
    pub at: u64,
    /// Its id.
    pub id: String,
    /// Whether it was a body.
    pub is_body: bool,
    /// `ok`, or the code of its error; `None`: the log does not say.
    pub verdict: Option<String>,
    /// How long it took.
    pub total_ms: f64,
    /// Its searches.
    pub searches: Vec<NotedSearch>,
    /// Its requests that are over, in the order in which they ended.
    pub calls: Vec<NotedCall>,
    /// Lines of its console.
    pub logs: u64,
}

/// A search.
#[derive(Clone, Debug, Default)]
pub struct NotedSearch {
    /// What was asked for.
    pub query: String,
    /// Ids of what was found.
    pub rows: Vec<String>,
}

/// A request that is over.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "as in a report's list of calls")]
pub struct NotedCall {
    pub seq: u64,
    pub method: String,
    pub id: Option<String>,
    pub source: Option<String>,
    pub state: String,
    pub code: Option<String>,
    pub start_ms: f64,
    pub duration_ms: f64,
    pub result_bytes: u64,
}

impl History {
    /// Reads a log.
    ///
    /// # Errors
    /// The file cannot be read. What stands in it is no error.
    pub fn open(path: impl AsRef<Path>) -> Result<History, HistoryError> {
        let path = path.as_ref();
        File::open(path)
            .and_then(|file| History::read(BufReader::new(file)))
            .map_err(|source| HistoryError { path: path.to_owned(), source })
    }

    /// Reads lines.
    ///
    /// # Errors
    /// The reader's.
    pub fn read(mut lines: impl BufRead) -> io::Result<History> {
        let mut history = History::default();
        let mut line = Vec::new();
        for _ in 0..MAX_EVENTS {
            line.clear();
            if lines.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
                break;
            }
            match serde_json::from_slice::<Value>(&line) {
                Ok(event) if event["event"].is_string() => history.take(&event),
                _ if line.iter().all(u8::is_ascii_whitespace) => {}
                _ => history.unreadable += 1,
            }
        }
        Ok(history)
    }

    /// Whether this is another file altogether: it has lines, and none of them is ours.
    pub fn is_foreign(&self) -> bool {
        self.unreadable > 0 && self.lost == 0 && self.runs.is_empty() && self.surfaces.is_empty()
    }

    fn take(&mut self, event: &Value) {
        match text(&event["event"]).as_str() {
            "surface" => self.surfaces.push(surface(event)),
            "log_gap" => self.lost = self.lost.saturating_add(number(&event["lost"])),
            "run_started" => self.run(event).is_body = true,
            "run_ended" => {
                let run = self.run(event);
                run.is_body = true;
                run.verdict = Some(optional(&event["code"]).unwrap_or_else(|| "ok".to_owned()));
                run.total_ms = millis(&event["timing"]["totalMs"]);
            }
            "search" => {
                let rows = event["rows"].as_array().map(|rows| rows.iter().map(text).collect()).unwrap_or_default();
                let search = NotedSearch { query: text(&event["query"]), rows };
                self.run(event).searches.push(search);
            }
            "call_ended" => {
                let call = call(event);
                let run = self.run(event);
                if !run.is_body {
                    run.total_ms = run.total_ms.max(call.start_ms + call.duration_ms);
                }
                run.calls.push(call);
            }
            "log" => self.run(event).logs += 1,
            _ => {}
        }
    }

    fn run(&mut self, event: &Value) -> &mut NotedRun {
        let id = text(&event["run"]);
        let index = *self.by_run.entry(id.clone()).or_insert_with(|| {
            self.runs.push(NotedRun { at: number(&event["at"]), id, ..NotedRun::default() });
            self.runs.len() - 1
        });
        &mut self.runs[index]
    }

    /// Requests of this kind.
    pub fn count(&self, method: &str) -> usize {
        self.calls().filter(|call| call.method == method).count()
    }

    /// Every request that is over.
    pub fn calls(&self) -> impl Iterator<Item = &NotedCall> {
        self.runs.iter().flat_map(|run| &run.calls)
    }

    /// The last call that was answered with a value.
    pub fn final_call(&self) -> Option<&NotedCall> {
        self.runs.iter().rev().flat_map(|run| run.calls.iter().rev()).find(|call| call.method == "call" && call.state == "ok")
    }

    /// Searches that found nothing.
    pub fn fruitless(&self) -> impl Iterator<Item = &NotedSearch> {
        self.runs.iter().flat_map(|run| &run.searches).filter(|search| search.rows.is_empty())
    }

    /// Bytes that were sent, and that direct exposure would have sent.
    pub fn bytes(&self) -> (u64, u64) {
        self.surfaces.iter().fold((0, 0), |(sent, direct), surface| {
            (u64::saturating_add(sent, surface.bytes_sent), u64::saturating_add(direct, surface.bytes_direct))
        })
    }
}

fn surface(event: &Value) -> NotedSurface {
    NotedSurface {
        at: number(&event["at"]),
        session: text(&event["session"]),
        shown: text(&event["shown"]),
        reason: optional(&event["reason"]),
        definitions: event["definitions"].as_array().map_or(0, |names| names.len() as u64),
        schemas_up_front: number(&event["schemasUpFront"]),
        bytes_sent: number(&event["bytesSent"]),
        bytes_direct: number(&event["bytesDirect"]),
        catalog_size: number(&event["catalogSize"]),
    }
}

fn call(event: &Value) -> NotedCall {
    NotedCall {
        seq: number(&event["seq"]),
        method: text(&event["method"]),
        id: optional(&event["id"]),
        source: optional(&event["source"]),
        state: text(&event["state"]),
        code: optional(&event["code"]),
        start_ms: millis(&event["startMs"]),
        duration_ms: millis(&event["durationMs"]),
        result_bytes: number(&event["resultBytes"]),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn optional(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// A log may say anything; no session is longer than a year.
fn millis(value: &Value) -> f64 {
    const YEAR: f64 = 365.0 * 86_400_000.0;
    value.as_f64().filter(|ms| ms.is_finite()).map_or(0.0, |ms| ms.clamp(0.0, YEAR))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_large_as_they_come_are_summed_and_drawn() {
        let line = |event: &str| event.replace("MAX", &u64::MAX.to_string());
        let gap = line("{\"event\": \"log_gap\", \"lost\": MAX}\n");
        let surface = line("{\"event\": \"surface\", \"bytesSent\": MAX, \"bytesDirect\": MAX}\n");
        let history = History::read(format!("{gap}{gap}no event\n{surface}{surface}").as_bytes()).unwrap();
        assert_eq!((history.lost, history.bytes()), (u64::MAX, (u64::MAX, u64::MAX)));
        assert!(!history.answers().is_empty() && history.page().contains("were lost"));
    }
}
