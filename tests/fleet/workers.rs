//! Workers in processes of their own, and what is left of them.

use std::collections::BTreeSet;
use std::process::Child;
use std::time::{Duration, Instant};

use codemode::launch::LauncherKind;
use codemode_tests::binary::{Ran, Typed, finish};
use codemode_tests::census::{children_of, is_alive};
use codemode_tests::patience::{PACE, until};
use codemode_tests::rig;
use futures_util::{FutureExt, StreamExt};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use super::SOON;

/// A `codemode worker` that goes on.
pub struct Worker {
    child: Option<Child>,
    pub name: String,
    seen: BTreeSet<i32>,
    _folder: TempDir,
}

impl Worker {
    /// Starts one; it may not be ready.
    pub fn start(url: &str, name: &str, more: &[&str]) -> Worker {
        let folder = tempfile::tempdir().expect("a folder");
        let launcher = match rig::way() {
            LauncherKind::Spawn => "spawn",
            LauncherKind::Template => "template",
        };
        let usual = ["worker", "--nats", url, "--name", name, "--launcher", launcher];
        let child = Typed::new(folder.path(), [&usual[..], more].concat()).start();
        Worker { child: Some(child), name: name.to_owned(), seen: BTreeSet::new(), _folder: folder }
    }

    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.as_ref().expect("it goes on").id()).expect("a pid")
    }

    pub fn children(&mut self) -> BTreeSet<i32> {
        let now = children_of(self.pid());
        self.seen.extend(&now);
        now
    }

    /// SIGKILL: it says nothing any more. Gives the children that it had.
    pub fn killed(mut self) -> BTreeSet<i32> {
        self.children();
        let mut child = self.child.take().expect("it goes on");
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
        std::mem::take(&mut self.seen)
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid()), signal).expect("it is ours");
    }

    /// SIGTERM, and what it says until its end.
    pub fn ended(mut self) -> (Ran, BTreeSet<i32>) {
        self.children();
        self.signal(Signal::SIGTERM);
        self.end()
    }

    /// Its end, for whatever reason.
    pub fn end(mut self) -> (Ran, BTreeSet<i32>) {
        let child = self.child.take().expect("it goes on");
        (finish(child), std::mem::take(&mut self.seen))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // A test that failed: nothing of it is to be left.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Waits until none of these processes is left.
pub async fn are_gone(pids: &BTreeSet<i32>) {
    until("no process of a worker is left", SOON, || !pids.iter().any(|pid| is_alive(*pid))).await;
}

/// A client that is neither worker nor gateway; its user stands in the address.
pub async fn raw(url: &str) -> async_nats::Client {
    let address: async_nats::ServerAddr = url.parse().expect("an address");
    let options = match (address.username(), address.password()) {
        (Some(user), Some(password)) => async_nats::ConnectOptions::with_user_and_password(user.to_owned(), password.to_owned()),
        _ => async_nats::ConnectOptions::new(),
    };
    options.connect(address).await.expect("NATS is there")
}

/// A fleet, and somebody who hears its workers.
pub struct Fleet {
    pub raw: async_nats::Client,
    statuses: async_nats::Subscriber,
    pub workers: Vec<Worker>,
}

impl Fleet {
    /// So many workers with so many places each, all of them ready.
    pub async fn of(url: &str, workers: usize, places: usize) -> Fleet {
        let names: Vec<String> = (1..=workers).map(|n| format!("w{n}")).collect();
        let places = places.to_string();
        let mut fleet = Fleet::heard(url).await;
        for name in &names {
            fleet.workers.push(Worker::start(url, name, &["--concurrency", &places]));
        }
        let mut missing: BTreeSet<String> = names.into_iter().collect();
        let began = Instant::now();
        while !missing.is_empty() {
            assert!(began.elapsed() < SOON, "not ready: {missing:?}");
            let status = fleet.hears(|_| true).await;
            missing.remove(status["worker"].as_str().unwrap_or_default());
        }
        fleet
    }

    /// With no worker yet.
    pub async fn heard(url: &str) -> Fleet {
        let raw = raw(url).await;
        let statuses = raw.subscribe("codemode.runs.workers.*").await.expect("anybody may listen here");
        raw.flush().await.expect("it is there");
        Fleet { raw, statuses, workers: Vec::new() }
    }

    /// One more worker, ready.
    pub async fn joined_by(&mut self, url: &str, name: &str, more: &[&str]) {
        self.workers.push(Worker::start(url, name, more));
        self.hears(|status| status["worker"] == *name).await;
    }

    /// Asks for a status like this until one comes.
    pub async fn hears(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < SOON, "no such status");
            let _ = self.raw.publish("codemode.runs.status", "".into()).await;
            let next = tokio::time::timeout(Duration::from_millis(300), self.statuses.next()).await;
            let Ok(Some(message)) = next else { continue };
            // Some tests let others speak there, too.
            let Ok(status) = serde_json::from_slice::<Value>(&message.payload) else { continue };
            if is_it(&status) {
                return status;
            }
        }
    }

    /// Every worker has all its places free, now.
    pub async fn is_idle(&mut self) {
        // What was said before is no answer.
        while self.statuses.next().now_or_never().is_some() {}
        let names: Vec<String> = self.workers.iter().map(|worker| worker.name.clone()).collect();
        for name in names {
            self.hears(|status| status["worker"] == *name && status["free"] == status["places"]).await;
        }
    }

    /// Ends all workers, and shows that nothing is left of any.
    pub async fn ends(self) {
        for worker in self.workers {
            let (ran, children) = worker.ended();
            assert_eq!(ran.code, Some(0), "{ran:?}");
            are_gone(&children).await;
        }
        tokio::time::sleep(PACE).await;
    }
}
