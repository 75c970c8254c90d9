//! The matrix: attacks against walls. Each row is tried with no wall (the control), with each wall that claims to stop it alone, and with every wall.
//!
//! `cargo test -p codemode-tests --test matrix -- [--list] [--group NAME] [--row ID] [--explore] [--write]`, on the Node of `CODEMODE_NODE`, or on each of `CODEMODE_NODES`.
//! It fails when an attack gets past a wall that claims to stop it alone, or past all of them; when a claim has no control that succeeds on any line tried
//! without a stated reason; and when there are too few rows.

mod cells;
mod corpus;
mod native;
mod page;
mod plain;
mod rows;
mod scene;
mod table;
mod wire;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use codemode::launch::{LauncherKind, Probes, Wall};
use codemode_tests::asked::Asked;
use codemode_tests::host;
use tokio::sync::Semaphore;

use cells::{Around, Place, Setting};
use rows::{Attack, Claimed, Means};
use table::{Line, Results};

/// As few as there may be.
const LEAST: usize = 150;
/// Cells at once, on a machine with two processors: one that computes and some that wait.
const AT_ONCE: usize = 4;

/// Whether a row was asked for.
fn wanted(asked: &Asked, row: &Attack) -> bool {
    asked.value("--group").is_none_or(|group| row.group() == group) && asked.value("--row").is_none_or(|id| row.id.contains(id))
}

fn main() -> ExitCode {
    let asked = match Asked::read(&["--list", "--write", "--explore"], &["--group", "--row"]) {
        Ok(asked) => asked,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(2);
        }
    };
    let explore = asked.has("--explore");
    let all = rows::all();
    let rows: Vec<Attack> = all.iter().filter(|row| wanted(&asked, row)).cloned().collect();
    if asked.has("--list") {
        for row in &rows {
            println!("{}\t{}", row.id, row.what);
        }
        return ExitCode::SUCCESS;
    }
    let mut faults = Vec::new();
    if all.len() < LEAST {
        faults.push(format!("{} rows, {LEAST} wanted", all.len()));
    }
    let missing = rows::uncovered(&all);
    if !missing.is_empty() {
        faults.push(format!("bodies of the corpus in no row: {missing:?}"));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime can be made");
    let mut lines = Vec::new();
    for node in host::nodes() {
        let line = runtime.block_on(one_node(&node, &rows, explore));
        print!("{}", table::print(&rows, &line, explore));
        lines.push(line);
    }
    if !explore {
        faults.extend(table::faults(&rows, &lines));
    }
    if asked.has("--write") && asked.is_whole() {
        page::write(&rows, &lines);
    }
    for fault in &faults {
        eprintln!("FAULT {fault}");
    }
    println!("{} rows, {} faults", rows.len(), faults.len());
    if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The configurations of a row on a line of Node.
fn around(row: &Attack, line: u32, explore: bool) -> Vec<Around> {
    let claims = if explore { candidates(row) } else { row.claims_on(line) };
    [Around::Nothing].into_iter().chain(claims.into_iter().map(Around::One)).chain([Around::All]).collect()
}

/// Every wall that could have a say.
fn candidates(row: &Attack) -> Vec<Claimed> {
    let realms = [Wall::GuestRealm, Wall::BarrenMainRealm, Wall::PermissionModel];
    let fits = |claimed: &Claimed| match (claimed, &row.means) {
        (Claimed::Supervisor, means) => matches!(means, Means::Wire(_) | Means::Guest(_) | Means::Pair(_)),
        (_, Means::Wire(_)) => false,
        (Claimed::Wall(index), Means::Act(_) | Means::Calls(_)) => !realms.contains(&Wall::ALL[*index]),
        (Claimed::Wall(index), Means::Guest(_) | Means::GuestFile(_)) => {
            Wall::ALL[*index] == Wall::GuestRealm || row.control == rows::Control::Child
        }
        (Claimed::Wall(index), Means::Main(_)) => !realms[..2].contains(&Wall::ALL[*index]),
        (Claimed::Wall(index), Means::Lost(_)) => Wall::ALL[*index] != Wall::GuestRealm,
        (Claimed::Wall(_), Means::Pair(_)) => false,
    };
    Claimed::all().into_iter().filter(fits).collect()
}

async fn one_node(node: &Path, rows: &[Attack], explore: bool) -> Line {
    let began = Instant::now();
    let version = version(node);
    let line: u32 = version.split('.').next().and_then(|major| major.parse().ok()).expect("a version");
    let probes = Probes::new(Some(node), false).expect("a probe can be started");
    let place = Arc::new(Place { node: PathBuf::from(node), probes, supervisors: Mutex::new(BTreeMap::new()) });
    // Cells of one setting stand together: its supervisor lives as long as they are tried.
    let mut cells: Vec<(Option<Setting>, usize, Around, LauncherKind)> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        for around in around(row, line, explore) {
            for launcher in [LauncherKind::Spawn, LauncherKind::Template] {
                let setting = Setting::of(row, around, launcher);
                // What starts no child of a launcher is tried once.
                if setting.is_some() || launcher == LauncherKind::Spawn {
                    cells.push((setting, index, around, launcher));
                }
            }
        }
    }
    cells.sort_by_key(|cell| cell.0);
    let mut results = Results::new();
    let mut at = 0;
    while at < cells.len() {
        let setting = cells[at].0;
        let end = cells[at..].iter().position(|cell| cell.0 != setting).map_or(cells.len(), |length| at + length);
        for (key, came) in together(&place, rows, &cells[at..end]).await {
            results.insert(key, came);
        }
        place.supervisors.lock().expect("no cell panicked").clear();
        at = end;
    }
    let root = nix::unistd::geteuid().is_root();
    Line { version, line, root, results, took: began.elapsed() }
}

async fn together(place: &Arc<Place>, rows: &[Attack], cells: &[(Option<Setting>, usize, Around, LauncherKind)]) -> Results {
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let tasks: Vec<_> = cells
        .iter()
        .map(|(_, index, around, launcher)| {
            let (place, turns, row) = (Arc::clone(place), Arc::clone(&turns), rows[*index].clone());
            let (index, around, launcher) = (*index, *around, *launcher);
            tokio::spawn(async move {
                let _turn = turns.acquire().await.expect("never closed");
                let mut came = cells::attempt(&place, &row, around, launcher).await;
                // A control on a busy machine may need a second chance, and so may a clock. What gets through otherwise is through.
                for _ in 0..2 {
                    let late = row.witness == "overtime" && around != Around::Nothing;
                    let again = match came {
                        cells::Came::Held(_) => around == Around::Nothing && row.no_control.is_empty(),
                        cells::Came::Through(_) => late,
                        cells::Came::NoTrial(_) => around == Around::Nothing,
                    };
                    if !again {
                        break;
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    came = cells::attempt(&place, &row, around, launcher).await;
                }
                ((index, around, launcher == LauncherKind::Template), came)
            })
        })
        .collect();
    let mut results = Results::new();
    for task in tasks {
        let (key, came) = task.await.expect("a cell has an outcome");
        results.insert(key, came);
    }
    results
}

/// The version of a Node, without its letter.
fn version(node: &Path) -> String {
    let output = std::process::Command::new(node).arg("--version").output().expect("Node starts");
    String::from_utf8_lossy(&output.stdout).trim().trim_start_matches('v').to_owned()
}
