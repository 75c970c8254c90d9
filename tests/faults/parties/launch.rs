//! The start of a child: its version, its records, its order.

use async_trait::async_trait;
use codemode::launch::{LaunchConfig, LaunchError, LauncherChoice, WallSet};
use codemode::{ErrorCode, JsonText, Resources, RunError, RunLimits, RunReport, Supervisor, Telemetry, Timing, ValueType};
use codemode_tests::fault::Fault;
use codemode_tests::recorded::{Moment, Recorded};
use codemode_tests::rig::{demo, request};

use crate::table::{Party, Plan, Seen, ends};
use crate::witness::Place;

/// What is started for a run.
pub struct Launch;

#[async_trait]
impl Party for Launch {
    fn name(&self) -> &'static str {
        "launch"
    }

    fn what(&self) -> &'static str {
        "Node and the jail object until the body is sent; here a program that says it is a Node and sends the object's records by itself."
    }

    fn steps(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("version", "it is asked for its version"),
            ("plan", "it has its plan and has reported nothing"),
            ("stage-one", "it has reported stage 1 and not that it stands at the gate"),
            ("order", "it has its order and is not armed"),
        ]
    }

    fn plan(&self, step: &'static str, fault: Fault) -> Plan {
        use Fault::{Deaf, Late, Slowly};
        // How long it is waited for: 5 s for a version, 1 s for a first record, 10 s for what comes after it.
        let patience = match step {
            "version" => 6_000,
            "plan" => 2_000,
            _ => 11_000,
        };
        match (step, fault) {
            // Its version is on its way to nobody who listens; at the other steps there is an order to hear.
            ("version" | "order", Deaf) | (_, Late | Slowly) => ends("ok", "", 3_000),
            // One line is read.
            ("version", Fault::Twice) => ends("ok", "", 3_000),
            // Noise on standard error, and no record.
            ("plan" | "stage-one" | "order", Fault::Flood) => ends("node_unavailable", "", patience),
            (_, Fault::Stop) => ends("node_unavailable", "", patience),
            ("version", Fault::Mute) => ends("node_unavailable", "", patience),
            _ => ends("node_unavailable", "", 2_000),
        }
    }

    async fn run(&self, step: &'static str, fault: Fault, _place: &Place) -> Seen {
        let at = match step {
            "version" => Moment::Version,
            "plan" => Moment::Plan,
            "stage-one" => Moment::StageOne,
            _ => Moment::Order,
        };
        recorded(Recorded { at, fails: fault }, LauncherChoice::Spawn).await.into()
    }
}

/// A run whose Node is this stand-in.
pub async fn recorded(recorded: Recorded, choice: LauncherChoice) -> RunReport {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let node = recorded.put(env!("CARGO_BIN_EXE_recorded_node"), folder.path());
    let mut config = LaunchConfig { node: Some(node), ..LaunchConfig::default() };
    config.danger.unjailed = true;
    config.danger.walls = WallSet::NONE;
    // Finding out about a Node is waiting, and not asynchronous.
    let build = move || Supervisor::builder().launch(config).launcher_choice(choice).build();
    match tokio::task::spawn_blocking(build).await.expect("it does not panic") {
        Ok(supervisor) => supervisor.run(request("return 1", 5_000), demo()).await,
        Err(error) => without_supervisor(&error),
    }
}

/// What a program says that finds no Node it can use.
fn without_supervisor(error: &LaunchError) -> RunReport {
    assert!(matches!(error, LaunchError::Node(_)), "{error}");
    RunReport {
        ok: false,
        value: JsonText::null(),
        value_type: ValueType::Undefined,
        logs: Vec::new(),
        logs_dropped: 0,
        error: Some(RunError::new(ErrorCode::NodeUnavailable, error.to_string())),
        calls: Vec::new(),
        telemetry: Telemetry::default(),
        timing: Timing::default(),
        resources: Resources { peak_rss_bytes: 0, limits: RunLimits::default() },
        isolation: None,
    }
}
