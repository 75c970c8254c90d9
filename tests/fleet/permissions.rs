//! The permissions of supervisor/docs/fleet.md, as they stand there: a worker with them works, and can reach nothing else.

use std::sync::Arc;
use std::time::Duration;

use codemode::fleet::{FleetError, FleetExecutor};
use codemode::{RunRequest, Runner};
use codemode_tests::host;
use codemode_tests::rig::json;
use futures_util::StreamExt;

use super::counting::{Counting, ticking};
use super::nats::Nats;
use super::workers::{Fleet, Worker, raw};
use super::{alone, settings};

/// The configuration of the page, with one user more who may do everything.
fn config() -> String {
    let page = std::fs::read_to_string(host::repository().join("supervisor/docs/fleet.md")).expect("the page is there");
    let conf = page.split("```conf\n").nth(1).and_then(|rest| rest.split("```").next()).expect("it has a configuration");
    conf.replacen("users = [", "users = [\n    { user: \"admin\", password: \"admin\" }", 1)
}

/// Whether what `from` publishes at `subject` comes to `to`, who listens at `ears`.
async fn reaches(from: &async_nats::Client, to: &async_nats::Client, subject: &str, ears: &str) -> bool {
    let mut heard = to.subscribe(ears.to_owned()).await.expect("the client takes it");
    to.flush().await.expect("it is there");
    // The server has the subscription, or has refused it, before the message comes.
    tokio::time::sleep(Duration::from_millis(100)).await;
    from.publish(subject.to_owned(), "x".into()).await.expect("the client takes it");
    tokio::time::timeout(Duration::from_millis(300), heard.next()).await.is_ok()
}

#[test]
fn a_worker_with_the_permissions_of_the_page_works_and_reaches_nothing_else() {
    alone(async {
        let nats = Nats::with(&config());
        let (admin_url, worker_url) = (nats.url_of("admin", "admin"), nats.url_of("worker-1", "change-me-1"));
        let gateway_url = nats.url_of("gateway-1", "change-me-3");
        let mut fleet = Fleet::heard(&admin_url).await;
        fleet.joined_by(&worker_url, "worker-1", &[]).await;
        let gateway = FleetExecutor::connect(&settings(&gateway_url, "gateway-1")).await.expect("it may");
        let catalog = Counting::new("g");
        let report = gateway.start(RunRequest::new(ticking("permitted", 2, 0)), Arc::clone(&catalog) as _).report().await;
        assert!(report.ok && json(&report).as_array().is_some_and(|all| all.len() == 2), "{report:?}");
        let _: &dyn Runner = &gateway;

        let (admin, worker) = (fleet.raw.clone(), raw(&worker_url).await);
        let inbox = "00000000000000000000000000000000";
        // The control: the way is there for whoever may take it.
        let to_gateway = format!("codemode.runs.g.gateway-1.{inbox}");
        assert!(reaches(&worker, &admin, &to_gateway, &to_gateway).await);
        let own = format!("codemode.runs.w.worker-1.{inbox}");
        assert!(reaches(&admin, &worker, &own, "codemode.runs.w.worker-1.*").await);
        // What others say.
        for ears in [
            ">",
            "codemode.>",
            "codemode.runs",
            "codemode.runs.g.gateway-1.*",
            "codemode.runs.w.worker-2.*",
            "codemode.runs.w.*.*",
            "_INBOX.>",
            "other",
        ] {
            let subject = match ears {
                ">" | "other" => "other".to_owned(),
                "codemode.runs" => ears.to_owned(),
                "_INBOX.>" => "_INBOX.x".to_owned(),
                "codemode.>" | "codemode.runs.g.gateway-1.*" => to_gateway.clone(),
                _ => format!("codemode.runs.w.worker-2.{inbox}"),
            };
            assert!(!reaches(&admin, &worker, &subject, ears).await, "a worker hears {ears}");
        }
        // What it may not say.
        for subject in [
            "other",
            "codemode.runs",
            "codemode.runs.w.worker-2.x",
            "codemode.runs.workers.worker-2",
            "codemode.runs.status",
            "_INBOX.x",
            "$SYS.REQ.SERVER.PING",
        ] {
            assert!(!reaches(&worker, &admin, subject, subject).await, "a worker says {subject}");
        }
        fleet.ends().await;
    });
}

#[test]
fn who_lacks_a_permission_is_told_so_and_ends() {
    alone(async {
        let nats = Nats::with(&config());
        // The name of another one: its inboxes are not to be heard.
        let worker = Worker::start(&nats.url_of("worker-1", "change-me-1"), "worker-9", &[]);
        let (ran, _) = worker.end();
        assert_eq!(ran.code, Some(4), "{ran:?}");
        assert!(ran.stderr.contains("NATS refuses") && ran.stderr.contains("fleet.md"), "{}", ran.stderr);
        let refused =
            FleetExecutor::connect(&settings(&nats.url_of("gateway-1", "wrong"), "gateway-1")).await.expect_err("the wrong password");
        assert!(matches!(refused, FleetError::Connect { .. }), "{refused}");
    });
}
