//! Runs beside each other, runs that are cancelled, and what is told while they go on.

use std::time::Duration;

use codemode::{CallState, ErrorCode, RunEvent, RunRequest, Supervisor};
use codemode_tests::census::{Census, children_of, own_pid};
use codemode_tests::patience::until;
use codemode_tests::rig::{self, code, demo, json, request};

/// Runs that one of the two has open at once.
const AT_ONCE: u64 = 8;

async fn hundred(supervisor: Supervisor, factor: u64) {
    let catalog = demo();
    for round in 0..100_u64.div_ceil(AT_ONCE) {
        let numbers = (round * AT_ONCE)..((round + 1) * AT_ONCE).min(100);
        let runs: Vec<_> = numbers
            .map(|n| {
                let body = format!(r#"return (await openclaw.tools.call("demo:echo", {{ n: {n} }})).n * {factor}"#);
                (n, supervisor.start(RunRequest::new(body), catalog.clone()))
            })
            .collect();
        for (n, run) in runs {
            let report = run.report().await;
            assert!(report.ok, "{n}: {report:?}");
            assert_eq!(json(&report), n * factor);
            assert_eq!(report.calls.len(), 1);
        }
    }
    assert_eq!(catalog.dispatch_count(), 100);
}

#[test]
fn two_supervisors_in_one_process_do_not_get_in_each_others_way() {
    rig::alone(async {
        let empty = Census::take();
        {
            let (one, two) = (rig::supervisor(), rig::supervisor());
            let one = tokio::spawn(hundred(one, 2));
            let two = tokio::spawn(hundred(two, 3));
            one.await.expect("the first hundred");
            two.await.expect("the second hundred");
        }
        empty.settles("two hundred runs").await;
    });
}

#[test]
fn cancelling_in_the_middle_of_a_call_tells_what_may_have_happened() {
    rig::alone(async {
        let watched = rig::Watched::new().await;
        let supervisor = &watched.supervisor;
        let catalog = demo();
        let body = r#"
        await openclaw.tools.call("demo:echo", {});
        console.log("before");
        await openclaw.tools.call("demo:slow", { ms: 600000 });"#;
        let mut run = supervisor.start(request(body, 60_000), catalog.clone());
        until("both calls are dispatched", Duration::from_secs(5), || catalog.dispatch_count() == 2).await;
        run.cancel();
        let report = run.finished().await;
        assert_eq!(code(&report), Some(ErrorCode::Cancelled));
        let states: Vec<_> = report.calls.iter().map(|call| call.state).collect();
        assert_eq!(states, [CallState::Ok, CallState::Unknown]);
        assert_eq!(report.logs[0].text, "before");
        assert_eq!(catalog.dispatch_count(), 2);
        assert!(report.timing.total < Duration::from_secs(10), "{:?}", report.timing);
        drop(run);
        watched.leaves_nothing("a cancelled run").await;
    });
}

#[test]
fn cancelling_while_the_child_starts_leaves_nothing() {
    rig::alone(async {
        let watched = rig::Watched::new().await;
        let supervisor = &watched.supervisor;
        for wait in [0, 1, 5, 15, 30] {
            let run = rig::start(supervisor, "while (true) {}");
            tokio::time::sleep(Duration::from_millis(wait)).await;
            run.cancel();
            assert_eq!(code(&run.report().await), Some(ErrorCode::Cancelled));
        }
        for wait in [0, 1, 5, 15, 30] {
            let run = rig::start(supervisor, "while (true) {}");
            tokio::time::sleep(Duration::from_millis(wait)).await;
            drop(run);
        }
        // Who drops a run does not wait for its end.
        if rig::way() == codemode::launch::LauncherKind::Spawn {
            let nobody = || children_of(own_pid()).is_empty();
            until("the ten children are gone", Duration::from_secs(2), nobody).await;
        }
        watched.leaves_nothing("ten runs that nobody wanted").await;
    });
}

#[test]
fn events_come_in_the_order_in_which_things_happen() {
    rig::together(async {
        let body = r#"
        console.log("one");
        const [hit] = await openclaw.tools.search("arguments as the value", { limit: 1 });
        await openclaw.tools.call(hit.id);
        console.warn("two");
        return 3"#;
        let mut run = rig::start(&rig::supervisor(), body);
        let mut told = Vec::new();
        while let Some(event) = run.event().await {
            told.push(match event {
                RunEvent::Started => "started".to_owned(),
                RunEvent::Confined(isolation) => {
                    format!("confined by {} walls", isolation.walls.len())
                }
                RunEvent::Log(entry) => format!("log {}", entry.text),
                RunEvent::CallQueued { seq, .. } => format!("queued {seq}"),
                RunEvent::Gate { seq, taken } => format!("{:?} {seq}", taken.step),
                RunEvent::CallSent { seq, id } => format!("sent {seq} {id}"),
                RunEvent::CallEnded(entry) => format!("ended {} {:?}", entry.seq, entry.state),
                RunEvent::Concluded { value, error: None, .. } => format!("came to {}", value.text()),
                RunEvent::Ended { code } => format!("over {code:?}"),
                other => format!("unexpected {other:?}"),
            });
        }
        let wanted = [
            "started",
            "confined by 11 walls",
            "log one",
            "queued 1",
            "ended 1 Ok",
            "queued 2",
            "Policy 2",
            "Arguments 2",
            "Hooks 2",
            "Approval 2",
            "sent 2 demo:echo",
            "Call 2",
            "Output 2",
            "Redaction 2",
            "ended 2 Ok",
            "log two",
            "came to 3",
            "over None",
        ];
        assert_eq!(told, wanted);
        let report = run.report().await;
        assert_eq!(json(&report), 3);
    });
}
