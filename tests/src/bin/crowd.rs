//! A program that embeds codemode and keeps many runs going: `crowd LANES ROUNDS`; `ROUNDS` 0 for ever. One line of JSON when forks or children are there, one a report.
//!
//! It hears SIGUSR1 and does nothing about it: what waits in a system call is interrupted.

use std::io::Write;

use codemode::launch::LaunchConfig;
use codemode_tests::rig;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

/// Bodies of every kind: at any moment some compute, some wait for a call, some begin or end.
const BODIES: [(&str, &str); 4] = [
    ("computes", "const end = Date.now() + 60; while (Date.now() < end) {} return 1"),
    ("waits", r#"return (await openclaw.tools.call("demo:slow", { ms: 60 })).done"#),
    ("calls", r#"let n = 0; for (; n < 30; n++) await openclaw.tools.call("demo:echo", { n }); return n"#),
    ("writes", r#"for (let n = 0; n < 50; n++) console.log("line " + n); return 50"#),
];

#[tokio::main]
async fn main() {
    let mut words = std::env::args().skip(1).map(|word| word.parse::<usize>().expect("a number"));
    let (lanes, rounds) = (words.next().unwrap_or(1), words.next().unwrap_or(0));
    let mut heard = signal(SignalKind::user_defined1()).expect("a signal can be heard");
    tokio::spawn(async move { while heard.recv().await.is_some() {} });
    let supervisor = rig::supervisor_of(LaunchConfig::default());
    let catalog = rig::demo();
    let tasks: Vec<_> = (0..lanes)
        .map(|lane| {
            let (supervisor, catalog) = (supervisor.clone(), catalog.clone());
            tokio::spawn(async move {
                for round in (0..).take_while(|round| rounds == 0 || *round < rounds) {
                    let (name, body) = BODIES[(lane + round) % BODIES.len()];
                    let report = supervisor.run(rig::request(body, 20_000), catalog.clone()).await;
                    let error = report.error.as_ref().map(ToString::to_string);
                    tell(&json!({"body": name, "ok": report.ok, "value": report.value.text(), "error": error, "logs": report.logs.len()}));
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("a lane ends");
    }
}

fn tell(line: &Value) {
    // Who started this may be gone, and with it the reason to go on.
    if writeln!(std::io::stdout(), "{line}").is_err() {
        std::process::exit(1);
    }
}
