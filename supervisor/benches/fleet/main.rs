//! The fleet way against the local one: `cargo bench -p codemode --bench fleet -- [--node PATH] [--runs N] [--seconds N]`.
//!
//! *Overhead*: the same body here and on one worker in turn, so that both have the same machine. *Throughput*: as many runs as one and two workers take, beside what this machine
//! does by itself. The server, the workers and the gateway share this machine. Every outcome is checked.

mod arguments;
#[expect(dead_code, reason = "this benchmark needs less of it")]
#[path = "../side_by_side/figures.rs"]
mod figures;
mod processes;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arguments::Arguments;
use codemode::catalog::{Catalog, FileCatalog};
use codemode::fleet::{FleetExecutor, FleetSettings};
use codemode::launch::{LaunchConfig, LauncherChoice};
use codemode::{ErrorCode, RunReport, RunRequest, Runner, Supervisor};
use figures::Figures;
use processes::{Nats, Worker};

/// Runs before anything is measured: waiting forks, caches, connections.
const WARM_UP: usize = 30;
/// Runs that go on at once when throughput is measured: fewer than one worker has places.
const AT_ONCE: usize = 16;
/// Places of a worker.
const PLACES: usize = 32;

const CATALOG: &str =
    r#"[{"id": "demo:echo", "name": "echo", "description": "Echoes.", "parameters": {"type": "object"}, "reply": {"echo": true}}]"#;

/// Name, body, value.
const BODIES: [(&str, &str, &str); 2] = [
    ("return 1", "return 1", "1"),
    ("10 calls", "let n = 0; for (let i = 0; i < 10; i++) n += (await openclaw.tools.call('demo:echo', { n: 1 })).n; return n", "10"),
];

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime can be made");
    runtime.block_on(measure(&arguments));
    ExitCode::SUCCESS
}

async fn measure(arguments: &Arguments) {
    let catalog: Arc<dyn Catalog> = Arc::new(FileCatalog::from_str(CATALOG, "bench").expect("it is one"));
    let nats = Nats::start();
    let first = Worker::start(&nats.url, PLACES, arguments.node.as_deref());
    let fleet = FleetExecutor::connect(&FleetSettings::new(&nats.url)).await.expect("the server is there");
    ready(&fleet, &catalog).await;
    let config = LaunchConfig { node: arguments.node.clone(), ..LaunchConfig::default() };
    let here =
        Supervisor::builder().launch(config).launcher_choice(LauncherChoice::Template).build().expect("children can be started here");

    println!("overhead, {} runs each, in turn: milliseconds", arguments.runs);
    println!("{:10} {:>10} {:>10} {:>10} {:>10} {:>10}", "body", "here p50", "fleet p50", "more", "here p95", "fleet p95");
    for (name, body, value) in BODIES {
        let (mut local, mut remote) = (Figures::default(), Figures::default());
        for number in 0..WARM_UP + arguments.runs {
            let own = timed(&here, &catalog, body, value).await;
            let far = timed(&fleet, &catalog, body, value).await;
            if number >= WARM_UP {
                local.add(own.as_secs_f64() * 1_000.0);
                remote.add(far.as_secs_f64() * 1_000.0);
            }
        }
        println!(
            "{name:10} {:10.3} {:10.3} {:10.3} {:10.3} {:10.3}",
            local.median(),
            remote.median(),
            remote.median() - local.median(),
            local.quantile(0.95),
            remote.quantile(0.95)
        );
    }

    println!("\nthroughput, {AT_ONCE} at once, {} s each: runs a second", arguments.seconds);
    println!("{:10} {:>10} {:>10} {:>10}", "body", "here", "1 worker", "2 workers");
    let mut rates = Vec::new();
    for (_, body, value) in BODIES {
        rates.push([
            rate(&here, &catalog, body, value, arguments.seconds).await,
            rate(&fleet, &catalog, body, value, arguments.seconds).await,
        ]);
    }
    let second = Worker::start(&nats.url, PLACES, arguments.node.as_deref());
    // It has taken runs when its places are there: with one at a time a server gives them to either.
    tokio::time::sleep(Duration::from_secs(3)).await;
    for ((name, body, value), [here, one]) in BODIES.into_iter().zip(rates) {
        let two = rate(&fleet, &catalog, body, value, arguments.seconds).await;
        println!("{name:10} {here:10.0} {one:10.0} {two:10.0}");
    }
    drop((first, second));
}

async fn once(runner: &dyn Runner, catalog: &Arc<dyn Catalog>, body: &str) -> RunReport {
    runner.start(RunRequest::new(body), Arc::clone(catalog)).report().await
}

/// Waits until a worker takes a run.
async fn ready(fleet: &FleetExecutor, catalog: &Arc<dyn Catalog>) {
    let began = Instant::now();
    while !once(fleet, catalog, "return 1").await.ok {
        assert!(began.elapsed() < Duration::from_secs(30), "no worker takes a run");
    }
}

async fn timed(runner: &dyn Runner, catalog: &Arc<dyn Catalog>, body: &str, value: &str) -> Duration {
    let began = Instant::now();
    let report = once(runner, catalog, body).await;
    let took = began.elapsed();
    assert!(report.ok && report.value.text() == value, "{body}: {report:?}");
    took
}

async fn rate<R: Runner + Clone + 'static>(
    runner: &R,
    catalog: &Arc<dyn Catalog>,
    body: &'static str,
    value: &'static str,
    seconds: u64,
) -> f64 {
    let began = Instant::now();
    let until = began + Duration::from_secs(seconds);
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..AT_ONCE {
        let (runner, catalog) = (runner.clone(), Arc::clone(catalog));
        callers.spawn(async move {
            let mut made = 0_u32;
            while Instant::now() < until {
                let report = once(&runner, &catalog, body).await;
                // Offered again is what a caller does.
                if report.error.as_ref().is_some_and(|error| error.code == ErrorCode::Busy) {
                    continue;
                }
                assert!(report.ok && report.value.text() == value, "{body}: {report:?}");
                made += 1;
            }
            made
        });
    }
    let mut made = 0;
    while let Some(own) = callers.join_next().await {
        made += own.expect("no check has failed");
    }
    f64::from(made) / began.elapsed().as_secs_f64()
}
