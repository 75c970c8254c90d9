//! The table of faults: every step of everybody's conversation × everything that can go wrong there, each cell run.
//!
//! `cargo test -p codemode-tests --test faults -- [--list] [--write] [--party NAME] [--cell WORDS]`. A *party* is somebody the supervisor depends on: the child, what
//! launches it, the template, hooks, approvers, backends, sources, gateways. For each of its steps and each [`Fault`] a party says what has to come of the run, or why the
//! cell makes no sense; then it does it. Each party has a process to itself, so that after each cell a census can say that nothing is left of it.
//! `supervisor/docs/faults.md` is this table; a test run sees that it is, and `--write` makes it so.

mod page;
mod parties;
mod table;
mod witness;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use codemode_tests::asked::Asked;
use serde_json::{Value, json};

use table::{Cell, Party};
use witness::Place;

/// As few cells as may be run.
const LEAST: usize = 150;
/// Parties at once: most of a cell is waiting.
const AT_ONCE: usize = 4;

/// Whether a cell was asked for.
fn wanted(asked: &Asked, cell: &Cell) -> bool {
    asked.value("--party").is_none_or(|party| cell.party == party) && asked.value("--cell").is_none_or(|words| cell.name().contains(words))
}

fn main() -> ExitCode {
    let asked = match Asked::read(&["--list", "--write", "--within"], &["--party", "--cell"]) {
        Ok(asked) => asked,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(2);
        }
    };
    let parties = parties::all();
    let cells: Vec<Cell> = parties.iter().flat_map(|party| table::cells(&**party)).collect();
    if asked.has("--list") {
        for cell in cells.iter().filter(|cell| wanted(&asked, cell)) {
            println!("{}\t{}", cell.name(), cell.plan);
        }
        return ExitCode::SUCCESS;
    }
    if asked.has("--within") {
        let name = asked.value("--party").unwrap_or_default();
        let Some(party) = parties.iter().find(|party| party.name() == name) else {
            eprintln!("no party {name}");
            return ExitCode::from(2);
        };
        return one(&**party, &asked);
    }
    let began = Instant::now();
    let mut failed = everybody(&parties, &cells, &asked);
    let run = cells.iter().filter(|cell| cell.expected().is_some() && wanted(&asked, cell)).count();
    let left_out = cells.iter().filter(|cell| cell.expected().is_none() && wanted(&asked, cell)).count();
    if asked.is_whole() {
        if run < LEAST {
            failed.push(format!("{run} cells, {LEAST} wanted"));
        }
        if asked.has("--write") {
            page::write(&parties);
        }
        failed.extend(page::differs(&parties));
    }
    for fault in &failed {
        eprintln!("FAILED {fault}");
    }
    println!("{run} cells run, {left_out} make no sense, {:.0?}", began.elapsed());
    println!("{} passed, {} failed", run.saturating_sub(failed.len()), failed.len());
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Every party in a process of its own; gives what failed.
fn everybody(parties: &[Box<dyn Party>], cells: &[Cell], asked: &Asked) -> Vec<String> {
    let runs = |name: &str| cells.iter().filter(|cell| cell.party == name && cell.expected().is_some() && wanted(asked, cell)).count();
    let names = parties.iter().map(|party| party.name()).filter(|name| runs(name) > 0);
    let queue: Mutex<Vec<&'static str>> = Mutex::new(names.rev().collect());
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(name) = queue.lock().expect("nobody panics with it").pop() else { return };
                    let faults = apart(name, runs(name), asked);
                    failed.lock().expect("nobody panics with it").extend(faults);
                }
            });
        }
    });
    failed.into_inner().expect("nobody panicked with it")
}

/// One party in a process of its own.
fn apart(name: &str, expected: usize, asked: &Asked) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args(["--within", "--party", name]).env("TMPDIR", folder.path()).env("RUST_BACKTRACE", "0").stdout(Stdio::piped());
    if let Some(words) = asked.value("--cell") {
        command.args(["--cell", words]);
    }
    let mut process = command.spawn().expect("this program starts");
    let stdout = process.stdout.take().expect("it is piped");
    let (mut failed, mut done) = (Vec::new(), 0);
    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
        let Ok(told) = serde_json::from_str::<Value>(&line) else { continue };
        done += 1;
        let (cell, took) = (told["cell"].as_str().unwrap_or_default(), &told["ms"]);
        let faults: Vec<&str> = told["faults"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        println!("{} {cell} ({took} ms)", if faults.is_empty() { "ok    " } else { "FAILED" });
        if !faults.is_empty() {
            failed.push(format!("{cell}: {}", faults.join("; ")));
        }
    }
    let status = process.wait().expect("it is ours");
    if done != expected {
        failed.push(format!("{name}: {done} of {expected} cells, then {status}"));
    }
    failed
}

/// The cells of one party, one after the other, a line of JSON each.
fn one(party: &dyn Party, asked: &Asked) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(3).enable_all().build().expect("a runtime can be made");
    let place = Place::new();
    runtime.block_on(async {
        party.warm_up(&place).await;
        for cell in table::cells(party).iter().filter(|cell| wanted(asked, cell)) {
            let Some(expected) = cell.expected() else { continue };
            let before = place.look();
            let began = Instant::now();
            let seen = party.run(cell.step, cell.fault, &place).await;
            let took = began.elapsed();
            if std::env::var_os("CODEMODE_SHOW").is_some() {
                eprintln!("{} {seen:?}", cell.name());
            }
            let mut faults = expected.faults(&seen, took);
            faults.extend(place.left_since(&before, party.keeps_processes()).await);
            let line = json!({"cell": cell.name(), "ms": took.as_millis(), "faults": faults});
            writeln!(std::io::stdout(), "{line}").expect("somebody reads this");
        }
    });
    ExitCode::SUCCESS
}
