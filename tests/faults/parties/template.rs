//! The template and its forks.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use async_trait::async_trait;
use codemode::catalog::FileCatalog;
use codemode::launch::{LaunchConfig, LauncherChoice};
use codemode::{RunEvent, RunHandle, RunReport, Supervisor};
use codemode_tests::census::{children_of, is_alive, own_pid};
use codemode_tests::fault::Fault;
use codemode_tests::patience::until;
use codemode_tests::recorded::{Moment, Recorded};
use codemode_tests::rig::{self, demo, request};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::launch::recorded;
use crate::table::{Party, Plan, Seen, ends};
use crate::witness::Place;

/// How long a stall of somebody else takes.
const STALL: Duration = Duration::from_millis(300);
const STANDS_WITHIN: Duration = Duration::from_secs(10);
/// More runs than forks ever wait on their own, so that some must ask.
const RUNS: usize = 6;

/// The template.
pub struct Template;

const FROM_OUTSIDE: &str = "what is done to it from outside is stopping, killing and letting go on; its words fail at the step `fork`";
const NO_FORK: &str = "it answers with one record, and a refusal is one";

#[async_trait]
impl Party for Template {
    fn name(&self) -> &'static str {
        "template"
    }

    fn what(&self) -> &'static str {
        "The Node that is copied for each run, and its copies: the real ones, stopped and killed from outside; for its words, the stand-in of `launch`."
    }

    fn steps(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("starting", "it boots, and a run waits for it"),
            ("fork", "it has a fork order and has not answered"),
            ("ready", "it waits; more runs come than forks wait"),
            ("waiting", "the forks that wait for a run"),
            ("running", "the template, while a fork of it runs a body"),
            ("in-a-run", "the fork that runs a body, while its call is open"),
        ]
    }

    fn plan(&self, step: &'static str, fault: Fault) -> Plan {
        use Fault::{Die, Late, Slowly, Stop};
        match (step, fault) {
            ("fork", Slowly) => Plan::NoSense(NO_FORK),
            ("fork", _) => ends("ok", "", 4_000),
            (_, fault) if !matches!(fault, Stop | Die | Late) => Plan::NoSense(FROM_OUTSIDE),
            // The call's answer lies in the socket of one who does not read.
            ("in-a-run", Stop) => ends("timeout", "ok ok", 3_500),
            ("in-a-run", Die) => ends("child_crashed", "ok unknown", 2_000),
            ("in-a-run", Late) => ends("ok", "ok ok", 4_000),
            ("running", _) => ends("ok", "ok ok", 4_000),
            ("waiting", Stop) => ends("timeout", "", 3_500),
            ("starting" | "ready", Stop) => ends("ok", "", 5_000),
            _ => ends("ok", "", 4_000),
        }
    }

    async fn run(&self, step: &'static str, fault: Fault, _place: &Place) -> Seen {
        if step == "fork" {
            return recorded(Recorded { at: Moment::Template, fails: fault }, LauncherChoice::Template).await.into();
        }
        let build = || Supervisor::builder().launch(LaunchConfig::default()).launcher_choice(LauncherChoice::Template).build();
        let supervisor = tokio::task::spawn_blocking(build).await.expect("it does not panic").expect("this host has templates");
        let report = match step {
            "starting" => {
                let run = supervisor.start(request("return 1", 2_000), demo());
                until("a template", STANDS_WITHIN, || !children().is_empty()).await;
                let victims = children();
                let report = fall(&victims, fault, run.report()).await;
                revive(&victims);
                report
            }
            _ => {
                stands(&supervisor).await;
                match step {
                    "ready" => {
                        let template = template();
                        fall(&template, fault, several(&supervisor)).await
                    }
                    "waiting" => {
                        let forks: BTreeSet<i32> = children().into_iter().filter(|pid| leads_a_session(*pid)).collect();
                        fall(&forks, fault, supervisor.run(request("return 1", 1_500), demo())).await
                    }
                    _ => open_call(&supervisor, step, fault).await,
                }
            }
        };
        drop(supervisor);
        report.into()
    }
}

/// Waits until forks wait.
async fn stands(supervisor: &Supervisor) {
    let report = rig::run(supervisor, "return 1").await;
    assert!(report.ok, "{report:?}");
    until("forks wait", STANDS_WITHIN, || children().iter().filter(|pid| leads_a_session(**pid)).count() >= 2).await;
}

/// Many runs at once; the first report that is not good, or any.
async fn several(supervisor: &Supervisor) -> RunReport {
    let runs: Vec<RunHandle> = (0..RUNS).map(|_| supervisor.start(request("return 1", 2_000), demo())).collect();
    let mut worst = None;
    for run in runs {
        let report = run.report().await;
        if worst.as_ref().is_none_or(|worst: &RunReport| worst.ok) {
            worst = Some(report);
        }
    }
    worst.expect("there were some")
}

/// A run that waits for a call, with the fault at the template or at the fork.
async fn open_call(supervisor: &Supervisor, step: &str, fault: Fault) -> RunReport {
    let body = r#"
        await openclaw.tools.call("demo:echo", {});
        return (await openclaw.tools.call("demo:slow", { ms: 700 })).done"#;
    let forks: BTreeSet<i32> = children().into_iter().filter(|pid| leads_a_session(*pid)).collect();
    let catalog = demo();
    let mut run = supervisor.start(request(body, 2_000), std::sync::Arc::<FileCatalog>::clone(&catalog));
    let mut sent = 0;
    while let Some(event) = run.event().await {
        sent += usize::from(matches!(event, RunEvent::CallSent { .. }));
        if sent == 2 {
            break;
        }
    }
    let victims = if step == "running" { template() } else { forks };
    fall(&victims, fault, run.report()).await
}

/// Lets it happen to these processes while a run goes on.
async fn fall(victims: &BTreeSet<i32>, fault: Fault, run: impl Future<Output = RunReport>) -> RunReport {
    let signal = if fault == Fault::Die { Signal::SIGKILL } else { Signal::SIGSTOP };
    send(victims, signal);
    if fault == Fault::Die {
        until("they are dead", STANDS_WITHIN, || !victims.iter().any(|pid| is_alive(*pid))).await;
    }
    if fault != Fault::Late {
        return run.await;
    }
    let revived = async {
        tokio::time::sleep(STALL).await;
        revive(victims);
    };
    tokio::join!(run, revived).0
}

fn revive(victims: &BTreeSet<i32>) {
    send(victims, Signal::SIGCONT);
}

fn send(victims: &BTreeSet<i32>, signal: Signal) {
    for pid in victims.intersection(&children()) {
        // It is a child of this process, or gone.
        let _ = kill(Pid::from_raw(*pid), signal);
    }
}

fn children() -> BTreeSet<i32> {
    children_of(own_pid())
}

fn template() -> BTreeSet<i32> {
    children().into_iter().filter(|pid| !leads_a_session(*pid)).collect()
}

fn leads_a_session(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in parentheses may hold anything.
    let session = stat.rsplit_once(')').and_then(|(_, after)| after.split_ascii_whitespace().nth(3)?.parse().ok());
    session == Some(pid)
}
