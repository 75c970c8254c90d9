//! The library in a process of its own: `embedder` runs one body and tells its events and its report, a line of JSON each.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::census::{children_of, cpu_of};
use crate::patience::until;

/// How long one line may take. Longer than any body of these tests runs.
const LINE_WITHIN: Duration = Duration::from_secs(20);

/// How long a child may take to show.
const SEEN_WITHIN: Duration = Duration::from_secs(5);
/// More than Node needs to start.
const BUSY: Duration = Duration::from_millis(200);

/// What an embedder is told, as its one argument.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Order {
    /// The body.
    pub body: String,
    /// Its limit.
    pub wall_ms: u64,
    /// The catalog's file.
    pub tools: String,
}

impl Order {
    /// A body with the demo catalog.
    pub fn new(body: &str, wall_ms: u64) -> Order {
        let tools = crate::host::repository().join("examples/demo.json");
        Order { body: body.to_owned(), wall_ms, tools: tools.display().to_string() }
    }

    /// The argument.
    ///
    /// # Panics
    ///
    /// Never: it is text and numbers.
    pub fn argument(&self) -> String {
        serde_json::to_string(self).expect("text and numbers are JSON")
    }
}

/// An embedder that runs.
#[derive(Debug)]
pub struct Embedder {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Embedder {
    /// Starts `program` with an order.
    ///
    /// # Panics
    ///
    /// When it cannot be started.
    pub fn start(program: &str, order: &Order) -> Embedder {
        // Whoever runs these tests in the background may ignore SIGINT, and ignoring is inherited.
        let mut command = Command::new("env");
        command.arg("--default-signal=INT").arg(program).arg(order.argument());
        Embedder::of(command)
    }

    /// Starts a command that becomes an embedder.
    ///
    /// # Panics
    ///
    /// When it cannot be started.
    pub fn of(mut command: Command) -> Embedder {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true).spawn().expect("the embedder starts");
        let stdout = child.stdout.take().expect("it is piped");
        Embedder { child, lines: BufReader::new(stdout).lines() }
    }

    /// Its id.
    ///
    /// # Panics
    ///
    /// When it was waited for.
    pub fn pid(&self) -> i32 {
        let pid = self.child.id().expect("it is not reaped");
        i32::try_from(pid).expect("a pid")
    }

    /// The next line, or nothing at end-of-file.
    ///
    /// # Panics
    ///
    /// When none comes in time, or it is not JSON.
    pub async fn line(&mut self) -> Option<Value> {
        let line = timeout(LINE_WITHIN, self.lines.next_line()).await;
        let line = line.expect("a line in time").expect("a pipe can be read")?;
        Some(serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}")))
    }

    /// Waits for an event of this name.
    ///
    /// # Panics
    ///
    /// When it does not come.
    pub async fn event(&mut self, name: &str) -> Value {
        while let Some(line) = self.line().await {
            if line["event"] == name {
                return line;
            }
        }
        panic!("no event {name} before the end");
    }

    /// The last line: a report, or the reason why there is none.
    pub async fn last(mut self) -> Value {
        let mut last = Value::Null;
        while let Some(line) = self.line().await {
            last = line;
        }
        // Its exit says nothing beyond its last line.
        let _ = self.child.wait().await;
        last
    }

    /// Its children, seen alive.
    ///
    /// # Panics
    ///
    /// When there are none.
    pub async fn children(&self) -> BTreeSet<i32> {
        let pid = self.pid();
        until("a child of the embedder", SEEN_WITHIN, || !children_of(pid).is_empty()).await;
        children_of(pid)
    }

    /// The child that computes.
    ///
    /// # Panics
    ///
    /// When none does.
    pub async fn busy_child(&self) -> i32 {
        let busy = |pid: &i32| cpu_of(*pid) >= BUSY;
        let of = self.pid();
        let found = || children_of(of).into_iter().find(busy);
        until("a child that computes", SEEN_WITHIN, || found().is_some()).await;
        found().expect("it was seen")
    }

    /// Waits until nobody holds its standard output any more, at most `patience`, and reaps it.
    ///
    /// # Panics
    ///
    /// When somebody does.
    pub async fn ends(mut self, patience: Duration) {
        let end = async { while let Ok(Some(_)) = self.lines.next_line().await {} };
        timeout(patience, end).await.expect("end-of-file on its standard output");
        // Killed by a signal of the test.
        let _ = self.child.wait().await;
    }
}

/// `sh -c 'SETUP; exec "$0" "$1"'` with an embedder: for limits and mounts that it should start under.
pub fn under(setup: &str, program: &Path, order: &Order) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{setup}; exec \"$0\" \"$1\"")).arg(program).arg(order.argument());
    command
}
