//! The escape fuzzer: `cargo run --release -p codemode-escape -- --seconds 60`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use codemode::launch::{Hole, LauncherChoice};
use codemode_escape::body::Body;
use codemode_escape::configuration::{Configuration, Walls, hole_name, hole_named};
use codemode_escape::corpus::{self, Kept};
use codemode_escape::hunt::{Plan, Statistics, hunt};
use codemode_escape::minimise::minimise;
use codemode_escape::range::{self, Range};
use codemode_tests::listeners::{CANARY_NAME, CANARY_TEXT};

const USAGE: &str = "usage: escape [OPTION]...

  --seconds N       how long, for each configuration and Node (10)
  --config NAME     realm, barren or all; given several times: one after the other (all three)
  --reopen HOLE     import or stack: with that hole open on purpose, until the first find
  --seed N          makes the bodies (1)
  --first K         the number of the first body (0)
  --body K          shows body K and what becomes of it, and runs nothing else
  --spawn           a Node start for each body, in place of forks of a template
  --nodes PATHS     Nodes to try, with colons between (the one of CODEMODE_NODE or the PATH)
  --corpus FOLDER   where finds are put (the crate's own corpus/)

Ends with 0 when nothing was reached, or with --reopen when something was; else with 1.
";

#[derive(Debug, Default)]
struct Arguments {
    seconds: Option<u64>,
    walls: Vec<Walls>,
    reopen: Option<Hole>,
    seed: Option<u64>,
    first: u64,
    body: Option<u64>,
    spawn: bool,
    nodes: Vec<PathBuf>,
    corpus: Option<PathBuf>,
}

fn arguments() -> Option<Arguments> {
    let mut arguments = Arguments::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--spawn" => arguments.spawn = true,
            "--seconds" => arguments.seconds = Some(words.next()?.parse().ok()?),
            "--seed" => arguments.seed = Some(words.next()?.parse().ok()?),
            "--first" => arguments.first = words.next()?.parse().ok()?,
            "--body" => arguments.body = Some(words.next()?.parse().ok()?),
            "--config" => arguments.walls.push(Walls::named(&words.next()?)?),
            "--reopen" => arguments.reopen = Some(hole_named(&words.next()?)?),
            "--nodes" => arguments.nodes = std::env::split_paths(&words.next()?).collect(),
            "--corpus" => arguments.corpus = Some(words.next()?.into()),
            _ => return None,
        }
    }
    Some(arguments)
}

fn main() -> ExitCode {
    let Some(arguments) = arguments() else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    if !range::has_canary() {
        // Bodies look for it in the environment this process was started with, which the kernel shows to others: nothing set later counts.
        let again = std::env::current_exe().and_then(|program| {
            std::process::Command::new(program).args(std::env::args_os().skip(1)).env(CANARY_NAME, CANARY_TEXT).status()
        });
        return match again {
            Ok(status) => ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1)),
            Err(error) => failed(&error),
        };
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    match runtime.block_on(go(arguments)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => failed(&*error),
    }
}

fn failed(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("escape: {error}");
    ExitCode::FAILURE
}

/// Whether it went as it should.
async fn go(arguments: Arguments) -> Result<bool, Box<dyn std::error::Error>> {
    let all_walls = match (arguments.walls.as_slice(), arguments.reopen) {
        ([], Some(_)) => vec![Walls::Realm],
        ([], None) => Walls::ALL.to_vec(),
        (some, _) => some.to_vec(),
    };
    let nodes = if arguments.nodes.is_empty() { vec![None] } else { arguments.nodes.iter().map(Some).collect() };
    let launcher = if arguments.spawn { LauncherChoice::Spawn } else { LauncherChoice::Template };
    let seed = arguments.seed.unwrap_or(1);
    let mut well = true;
    for node in nodes {
        for walls in &all_walls {
            let configuration = Configuration { walls: *walls, reopen: arguments.reopen };
            let range = Arc::new(Range::open(configuration, launcher, node.map(PathBuf::as_path))?);
            if let Some(number) = arguments.body {
                let body = Body::make(seed, number);
                println!("{}\n", body.text(range.aim()));
                println!("{}\n{:?}", serde_json::to_string(&range.report(&body).await)?, range.find(&body).await);
                continue;
            }
            let time = Duration::from_secs(arguments.seconds.unwrap_or(10));
            let plan = Plan { seed, first: arguments.first, time, bodies: u64::MAX, until_found: arguments.reopen.is_some() };
            let statistics = hunt(Arc::clone(&range), plan).await;
            let which = node.map_or("the usual Node".to_owned(), |node| node.display().to_string());
            show(configuration, &which, seed, arguments.first, &statistics);
            for (number, find) in statistics.finds.iter().take(8) {
                let least = minimise(&range, &Body::make(seed, *number)).await;
                let kept = Kept { configuration, origin: format!("seed {seed} body {number}"), body: least };
                let folder = arguments.corpus.clone().unwrap_or_else(corpus::folder);
                println!("  body {number}: {}; kept as {}", find.name(), corpus::write(&folder, &kept)?.display());
            }
            let nothing = statistics.finds.is_empty() && statistics.unexplained == 0;
            well &= nothing == arguments.reopen.is_none() && statistics.bodies > 0;
        }
    }
    Ok(well)
}

fn show(configuration: Configuration, node: &str, seed: u64, first: u64, of: &Statistics) {
    let hole = configuration.reopen.map(|hole| format!(", {} open", hole_name(hole))).unwrap_or_default();
    println!("walls: {}{hole}; {node}; seed {seed}, first {first}", configuration.walls.name());
    println!(
        "  {} bodies in {:.1} s, {:.0} a second; {:.1} % compiled and ran; {} reached something, {} touches unexplained",
        of.bodies,
        of.time.as_secs_f64(),
        of.bodies as f64 / of.time.as_secs_f64(),
        of.share_that_ran(),
        of.finds.len(),
        of.unexplained
    );
    if let Some(after) = of.first_find_after {
        println!("  first find after {:.2} s", after.as_secs_f64());
    }
    let ends: Vec<String> = of.ends.iter().map(|(end, count)| format!("{end} {count}")).collect();
    println!("  ends: {}", ends.join(", "));
}
