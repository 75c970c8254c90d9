//! What the server noted of a run.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use codemode_tests::patience::PACE;
use serde_json::Value;

use crate::table::{NO_RUN, Seen, state};

/// A run that was taken begins so soon, if it ever does.
const BEGINS_WITHIN: Duration = Duration::from_millis(300);
/// One whose gateway is gone is over so soon.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// What the session log has of a run, once the run is over.
pub fn of(log: &Path, run: &str) -> Result<Seen, String> {
    let began = Instant::now();
    loop {
        let events = events(log, run)?;
        if let Some(ended) = events.iter().find(|event| event["event"] == "run_ended") {
            return Ok(seen(&events, ended));
        }
        if events.is_empty() && began.elapsed() > BEGINS_WITHIN {
            return Ok(Seen { verdict: NO_RUN.to_owned(), ..Seen::default() });
        }
        if began.elapsed() > ENDS_WITHIN {
            return Err(format!("the run has no end in the log: {events:?}"));
        }
        thread::sleep(PACE);
    }
}

fn events(log: &Path, run: &str) -> Result<Vec<Value>, String> {
    let text = fs::read_to_string(log).map_err(|error| error.to_string())?;
    // The last line may be on its way.
    Ok(text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).filter(|event| event["run"] == run).collect())
}

fn seen(events: &[Value], ended: &Value) -> Seen {
    let of = |kind: &'static str| events.iter().filter(move |event| event["event"] == kind);
    let mut calls: Vec<&Value> = of("call_ended").collect();
    calls.sort_by_key(|call| call["seq"].as_u64());
    let mut faults = Vec::new();
    if of("call_queued").count() != calls.len() {
        faults.push(format!("requests without their one end: {calls:?}"));
    }
    if of("run_ended").count() != 1 {
        faults.push("a run with two ends".to_owned());
    }
    let ledger = calls.iter().map(|call| state(call["state"].as_str().unwrap_or_default(), call["code"].as_str()));
    Seen {
        verdict: ended["code"].as_str().unwrap_or("ok").to_owned(),
        calls: ledger.collect::<Vec<_>>().join(" "),
        logs: of("log").count(),
        connection: "",
        faults,
    }
}
