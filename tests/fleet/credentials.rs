//! `--creds FILE`: a server with an operator, accounts and users, their JWTs signed here as `nsc` signs them, with the permissions of supervisor/docs/fleet.md.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use codemode::fleet::{FleetError, FleetExecutor, FleetSettings};
use codemode_tests::host;
use futures_util::StreamExt;
use nkeys::KeyPair;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::counting::Counting;
use super::nats::Nats;
use super::workers::Worker;
use super::{alone, first_run, is_busy, settings};

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later").as_secs()
}

/// What `issuer` says of `subject`.
fn token(issuer: &KeyPair, subject: &KeyPair, name: &str, ends: Option<u64>, mut nats: Value) -> String {
    nats["version"] = json!(2);
    let mut claims =
        json!({"jti": name, "iat": now(), "iss": issuer.public_key(), "name": name, "sub": subject.public_key(), "nats": nats});
    if let Some(ends) = ends {
        claims["exp"] = json!(ends);
    }
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(json!({"typ": "JWT", "alg": "ed25519-nkey"})), part(claims));
    let signature = issuer.sign(signed.as_bytes()).expect("it has a seed");
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// An account, and its users' files.
struct Account {
    keys: KeyPair,
    folder: TempDir,
}

impl Account {
    fn new() -> Account {
        Account { keys: KeyPair::new_account(), folder: tempfile::tempdir().expect("a folder") }
    }

    fn told_by(&self, operator: &KeyPair) -> String {
        let limits =
            json!({"subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1, "leaf": -1});
        token(operator, &self.keys, "fleet", None, json!({"type": "account", "limits": limits}))
    }

    /// The credentials of a user with the permissions of this user of the page, until then.
    fn user(&self, name: &str, ends: Option<u64>) -> PathBuf {
        let user = KeyPair::new_user();
        let [publish, subscribe] = permissions(name);
        let nats = json!({"type": "user", "pub": {"allow": publish}, "sub": {"allow": subscribe}, "subs": -1, "data": -1, "payload": -1});
        let (jwt, seed) = (token(&self.keys, &user, name, ends, nats), user.seed().expect("it has one"));
        let path = self.folder.path().join(format!("{name}-{}.creds", ends.unwrap_or(0)));
        let text = format!(
            "-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
        );
        std::fs::write(&path, text).expect("it is ours");
        path
    }
}

/// What a user of the page may say and hear.
fn permissions(user: &str) -> [Vec<String>; 2] {
    let page = std::fs::read_to_string(host::repository().join("supervisor/docs/fleet.md")).expect("the page is there");
    let lines = page.split(&format!("user: \"{user}\"")).nth(1).expect("the page has this user");
    ["publish", "subscribe"].map(|what| {
        let list = lines.split(&format!("{what}: {{ allow: [")).nth(1).and_then(|rest| rest.split(']').next()).expect("a list");
        list.split(',').map(|subject| subject.trim().trim_matches('"').to_owned()).collect()
    })
}

/// A server that knows this operator and these accounts.
fn server(operator: &KeyPair, accounts: &[&Account]) -> Nats {
    let own = token(operator, operator, "operator", None, json!({"type": "operator"}));
    let preload: String =
        accounts.iter().map(|account| format!("  {}: {}\n", account.keys.public_key(), account.told_by(operator))).collect();
    Nats::with(&format!("operator: {own}\nresolver: MEMORY\nresolver_preload: {{\n{preload}}}"))
}

fn with(url: &str, name: &str, credentials: PathBuf) -> FleetSettings {
    FleetSettings { credentials: Some(credentials), ..settings(url, name) }
}

#[test]
fn a_fleet_with_credentials_works_with_the_permissions_of_the_page_and_nobody_else_is_in_it() {
    alone(async {
        let (operator, fleet, other) = (KeyPair::new_operator(), Account::new(), Account::new());
        let nats = server(&operator, &[&fleet, &other]);
        let url = nats.url();
        let of_worker = fleet.user("worker-1", None).display().to_string();
        let worker = Worker::start(&url, "worker-1", &["--creds", &of_worker]);
        let gateway = FleetExecutor::connect(&with(&url, "gateway-1", fleet.user("gateway-1", None))).await.expect("it may");
        let report = first_run(&gateway, "creds").await;
        assert!(report.ok && report.calls.len() == 2, "{report:?}");

        // Another account of the same server, with the same names: nobody there.
        let elsewhere = FleetExecutor::connect(&with(&url, "gateway-1", other.user("gateway-1", None))).await.expect("it may");
        let report = elsewhere.run(codemode::RunRequest::new("return 1"), Counting::new("other") as _).await;
        assert!(is_busy(&report), "{report:?}");

        // What the file of a worker opens, and no more.
        let options = async_nats::ConnectOptions::with_credentials_file(&of_worker).await.expect("it is one");
        let rogue = options.connect(&url).await.expect("it may");
        let mut own = rogue.subscribe("codemode.runs.w.worker-1.*").await.expect("the client takes it");
        let mut others = rogue.subscribe("codemode.runs.w.worker-2.*").await.expect("the client takes it");
        let mut gateways = rogue.subscribe("codemode.runs.g.>").await.expect("the client takes it");
        rogue.flush().await.expect("it is there");
        let report = first_run(&gateway, "heard").await;
        assert!(report.ok, "{report:?}");
        let a_while = Duration::from_millis(300);
        assert!(tokio::time::timeout(a_while, own.next()).await.is_ok_and(|heard| heard.is_some()), "the control: its own it hears");
        for ears in [&mut others, &mut gateways] {
            assert!(!matches!(tokio::time::timeout(a_while, ears.next()).await, Ok(Some(_))));
        }
        let (ran, _) = worker.ended();
        assert_eq!(ran.code, Some(0), "{ran:?}");
    });
}

#[test]
fn credentials_that_do_not_count_are_refused_by_name() {
    alone(async {
        let (operator, fleet, stranger) = (KeyPair::new_operator(), Account::new(), Account::new());
        let nats = server(&operator, &[&fleet]);
        let url = nats.url();
        let not_one = fleet.folder.path().join("not-one.creds");
        std::fs::write(&not_one, "-----BEGIN NATS USER JWT-----\nx").expect("it is ours");
        // The control: whose do.
        assert!(FleetExecutor::connect(&with(&url, "gateway-1", fleet.user("gateway-1", Some(now() + 600)))).await.is_ok());
        let over = fleet.user("gateway-1", Some(now() - 60));
        for refused in
            [settings(&url, "gateway-1"), with(&url, "gateway-1", stranger.user("gateway-1", None)), with(&url, "gateway-1", over)]
        {
            let error = FleetExecutor::connect(&refused).await.expect_err("it is refused");
            assert!(matches!(error, FleetError::Connect { .. }), "{refused:?}: {error}");
        }
        for unread in [not_one, fleet.folder.path().join("nowhere")] {
            let error = FleetExecutor::connect(&with(&url, "gateway-1", unread)).await.expect_err("it is none");
            assert!(matches!(error, FleetError::Credentials { .. }), "{error}");
        }
        // Its own file, and the name of another worker: its inboxes are not to be heard.
        let of_worker = fleet.user("worker-1", None).display().to_string();
        let (ran, _) = Worker::start(&url, "worker-2", &["--creds", &of_worker]).end();
        assert!(ran.code == Some(4) && ran.stderr.contains("NATS refuses"), "{ran:?}");
        let foreign = stranger.user("worker-1", None).display().to_string();
        let (ran, _) = Worker::start(&url, "worker-1", &["--creds", &foreign]).end();
        assert!(ran.code == Some(4) && ran.stderr.contains("no connection to NATS"), "{ran:?}");
    });
}
