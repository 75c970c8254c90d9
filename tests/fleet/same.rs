//! The same body on this machine and on a fleet: the same report, as far as a body has a say in it.

use std::sync::Arc;

use codemode::catalog::CallCode;
use codemode::fleet::{FleetError, FleetExecutor};
use codemode::{RunEvent, RunReport, RunRequest, Runner};
use codemode_tests::rig::{self, demo};
use serde_json::{Value, json};

use super::nats::Nats;
use super::workers::Fleet;
use super::{alone, gateway, settings};

const BODIES: &[&str] = &[
    "return 1",
    "console.log('a', {b: 1}); console.error('c'); return [1, {two: 2n}]",
    "const [row] = await openclaw.tools.search('echo', {limit: 1}); const tool = await openclaw.tools.describe(row.id); return [row, tool, await openclaw.tools.call(row.id, {a: 1})]",
    "return Promise.all([1, 2, 3].map((n) => openclaw.tools.call('demo:echo', {n})))",
    "return openclaw.tools.call('demo:nothing', {})",
    "try { await openclaw.tools.call('demo:fail', {}) } catch (e) { return [e.name, e.message, e.code, e.data, e.toolId] }",
    "return openclaw.tools.describe('ech')",
    "throw new TypeError('line\\ntwo')",
    "return (",
    "   ",
    "Promise.reject(new Error('nobody')); return 2",
    "await new Promise(() => {})",
    "for (let n = 0; n < 3; n++) openclaw.tools.call('demo:slow', {ms: 1}); return 'drained'",
];

/// What does not depend on who measures.
fn face(report: &RunReport) -> Value {
    let mut all = serde_json::to_value(report).expect("JSON");
    for entry in all["calls"].as_array_mut().expect("an array") {
        entry["startMs"] = Value::Null;
        entry["durationMs"] = Value::Null;
    }
    let isolation = json!({"node": all["isolation"]["node"], "walls": all["isolation"]["walls"]});
    json!({
        "ok": all["ok"], "value": all["value"], "valueType": all["valueType"], "logs": all["logs"], "error": all["error"], "calls": all["calls"],
        "telemetry": all["telemetry"], "isolation": isolation, "limits": all["resources"]["limits"],
    })
}

async fn told(runner: &dyn Runner, body: &str) -> (Vec<Value>, RunReport) {
    let mut run = runner.start(RunRequest::new(body), demo());
    let mut events = Vec::new();
    while let Some(event) = run.event().await {
        // Where the walls stand is in the report. A tool that is not there is missed at the worker, before its call comes to the gate; every other step is told.
        let is_missed = matches!(&event, RunEvent::Gate { taken, .. } if taken.code == Some(CallCode::UnknownTool));
        if !matches!(event, RunEvent::Confined(_)) && !is_missed {
            events.push(serde_json::to_value(event).expect("JSON")["event"].clone());
        }
    }
    (events, run.report().await)
}

#[test]
fn a_body_cannot_tell_a_fleet_from_this_machine_and_neither_can_its_caller() {
    alone(async {
        let nats = Nats::start();
        let fleet = Fleet::of(&nats.url(), 1, 4).await;
        let (here, there) = (rig::supervisor(), gateway(&nats.url(), "g").await);
        for body in BODIES {
            let (mut own, local) = told(&here, body).await;
            let (mut far, remote) = told(&there, body).await;
            assert_eq!(face(&local), face(&remote), "{body}");
            own.sort_by_key(ToString::to_string);
            far.sort_by_key(ToString::to_string);
            assert_eq!(own, far, "{body}");
        }
        fleet.ends().await;
    });
}

#[test]
fn what_takes_a_supervisor_takes_a_fleet() {
    async fn two(runner: impl Runner) -> String {
        runner.start(RunRequest::new("return 1 + 1"), demo()).report().await.value.text().to_owned()
    }
    alone(async {
        let nats = Nats::start();
        let fleet = Fleet::of(&nats.url(), 1, 4).await;
        assert_eq!(two(rig::supervisor()).await, "2");
        assert_eq!(two(gateway(&nats.url(), "g").await).await, "2");
        assert_eq!(two(Arc::new(gateway(&nats.url(), "h").await) as Arc<dyn Runner>).await, "2");
        fleet.ends().await;
    });
}

#[test]
fn who_cannot_be_part_of_a_fleet_is_told_why() {
    alone(async {
        let nats = Nats::start();
        let refused = async |change: fn(&mut codemode::fleet::FleetSettings)| {
            let mut settings = settings(&nats.url(), "g");
            change(&mut settings);
            FleetExecutor::connect(&settings).await.expect_err("it is refused")
        };
        assert!(matches!(refused(|s| s.subject = "a.*".to_owned()).await, FleetError::Subject(_)));
        assert!(matches!(refused(|s| s.name = Some("a.b".to_owned())).await, FleetError::Name(_)));
        assert!(matches!(refused(|s| s.credentials = Some("/nowhere".into())).await, FleetError::Credentials { .. }));
        assert!(matches!(refused(|s| s.url = "nats://127.0.0.1:1".to_owned()).await, FleetError::Connect { .. }));
        // TLS is asked for, and this server has none.
        assert!(matches!(refused(|s| s.requires_tls = true).await, FleetError::Connect { .. }));
    });
}
