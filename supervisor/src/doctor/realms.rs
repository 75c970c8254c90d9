//! The rows of the walls that are made of JavaScript: both realms and Node's permission model.
//!
//! The control is a plain Node with a script of ours, no body and no wall: there the same acts succeed. The realms are then tried by bodies in a real child behind
//! every wall, the permission model by the script again in a Node with that flag and nothing else.

use std::sync::Arc;

use codemode_protocol::RunLimits;
use serde::Deserialize;

use super::finding::{ActRow, Verdict};
use crate::catalog::{Catalog, FileCatalog};
use crate::launch::{Isolation, LaunchConfig, LauncherChoice, Node, NodeError, Wall, WallReport, WallStatus};
use crate::run::{RunReport, RunRequest, Supervisor};

/// What each act gives is one word: a type, `done`, or the name of an error.
const SCRIPT: &str = r#"
const word = (act) => { try { act(); return "done" } catch (error) { return String(error.code || error.name) } };
const found = {
  process: typeof process, require: typeof require, fetch: typeof fetch,
  compile: word(() => Function("return 1")()),
  read: word(() => require("fs").closeSync(require("fs").openSync(process.execPath))),
  start: word(() => { const done = require("child_process").spawnSync(process.execPath, ["--version"]); if (done.error) throw done.error }),
  thread: word(() => new (require("worker_threads").Worker)("0", { eval: true })),
};
import("node:fs").then(() => "done", (error) => String(error.code || error.name)).then((word) => {
  found.import = word;
  require("fs").writeSync(1, JSON.stringify(found));
  process.exit();
});
"#;

/// The same looks from inside a guest realm. `import` is refused before anything runs, so it is a body of its own.
const LOOK: &str = r#"
const word = (act) => { try { act(); return "done" } catch (error) { return error.name } };
return { process: typeof process, require: typeof require, fetch: typeof fetch, compile: word(() => Function("return 1")()) };
"#;
const IMPORT: &str = r#"await import("node:fs"); return "done";"#;

/// What the script or a body found.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Found {
    process: String,
    require: String,
    fetch: String,
    compile: String,
    read: String,
    start: String,
    thread: String,
    import: String,
}

/// What is known of a Node's realms, and of a real run.
#[derive(Debug)]
pub(super) struct Realms {
    plain: Result<Found, String>,
    permitted: Result<Found, String>,
    look: RunReport,
    import: RunReport,
}

impl Realms {
    /// Looks: two Nodes, two runs.
    pub(super) async fn examine(node: &Node, config: &LaunchConfig) -> Realms {
        let permission = node.flags(false).into_iter().next().unwrap_or_default();
        let said = |flags: Vec<String>| {
            let node = node.clone();
            tokio::task::spawn_blocking(move || ask(&node, &flags))
        };
        let (plain, permitted) = (said(Vec::new()), said(vec![permission]));
        let (look, import) = match Supervisor::builder().launch(config.clone()).launcher_choice(LauncherChoice::Spawn).build() {
            Ok(supervisor) => tokio::join!(run(&supervisor, LOOK), run(&supervisor, IMPORT)),
            Err(error) => {
                let report = crate::run::unavailable(&error, RunLimits::default());
                (report.clone(), report)
            }
        };
        let broken = |_| Err("the thread that asked Node broke down".to_owned());
        Realms { plain: plain.await.unwrap_or_else(broken), permitted: permitted.await.unwrap_or_else(broken), look, import }
    }

    /// What stood around the real child; nothing when there was none.
    pub(super) fn isolation(&self) -> Option<&Isolation> {
        self.look.isolation.as_ref()
    }

    /// Why there was no real child.
    pub(super) fn refused(&self) -> Option<String> {
        let error = self.look.error.as_ref().filter(|_| self.look.isolation.is_none());
        error.map(|error| error.message.lines().next().unwrap_or_default().to_owned())
    }

    fn told(&self, wall: Wall) -> Option<&WallReport> {
        self.isolation()?.walls.iter().find(|report| report.name == wall)
    }

    /// The rows of one of the three walls.
    pub(super) fn rows(&self, wall: Wall) -> Vec<ActRow> {
        match wall {
            Wall::GuestRealm => self.guest(),
            Wall::BarrenMainRealm => self.barren(),
            Wall::PermissionModel => self.permission(),
            _ => Vec::new(),
        }
    }

    fn guest(&self) -> Vec<ActRow> {
        let look = serde_json::from_str::<Found>(self.look.value.text()).map_err(|_| {
            let message = self.look.error.as_ref().map(|error| error.message.as_str()).unwrap_or("no value");
            message.lines().next().unwrap_or_default().to_owned()
        });
        let import = match &self.import.error {
            Some(error) => error.code.as_str().to_owned(),
            None => self.import.value.text().trim_matches('"').to_owned(),
        };
        let name = |act, free: &str, pick: fn(&Found) -> &String| compare(act, free, &self.plain, &look, pick, "undefined");
        let imported = Ok(Found { import, ..Found::default() });
        vec![
            name("see process", "object", |found| &found.process),
            name("see require", "function", |found| &found.require),
            name("see fetch", "function", |found| &found.fetch),
            compare("compile text (Function)", "done", &self.plain, &look, |found| &found.compile, "EvalError"),
            compare("import node:fs", "done", &self.plain, &imported, |found| &found.import, "syntax_error"),
        ]
    }

    /// Nothing can be run in the main realm of a released child: what its own bridge found there before the gate is the result.
    fn barren(&self) -> Vec<ActRow> {
        let left = match self.told(Wall::BarrenMainRealm) {
            Some(WallReport { status: WallStatus::Enforced, .. }) => Ok(Found { process: "nothing".to_owned(), ..Found::default() }),
            Some(report) => Ok(Found { process: report.reason.clone().unwrap_or_default(), ..Found::default() }),
            None => Err(self.refused().unwrap_or_else(|| "no report".to_owned())),
        };
        vec![compare("find Node in the main realm", "object", &self.plain, &left, |found| &found.process, "nothing")]
    }

    fn permission(&self) -> Vec<ActRow> {
        const DENIED: &str = "ERR_ACCESS_DENIED";
        let row = |act, pick| compare(act, "done", &self.plain, &self.permitted, pick, DENIED);
        vec![
            row("read a file (fs)", |found: &Found| &found.read),
            row("start a program (child_process)", |found: &Found| &found.start),
            row("start a thread (worker_threads)", |found: &Found| &found.thread),
        ]
    }
}

/// `free`: the word of a control that succeeds. `stopped`: the word of the wall.
fn compare(
    act: &'static str,
    free: &str,
    control: &Result<Found, String>,
    result: &Result<Found, String>,
    pick: fn(&Found) -> &String,
    stopped: &str,
) -> ActRow {
    let word = |found: &Result<Found, String>| match found {
        Ok(found) => pick(found).clone(),
        Err(why) => format!("lost: {why}"),
    };
    let (without, with) = (word(control), word(result));
    let (verdict, reason) = if without != free {
        (Verdict::Untested, Some(format!("fails in a plain Node too: {without}")))
    } else if with == stopped {
        (Verdict::Enforced, None)
    } else if let Err(why) = result {
        (Verdict::Untested, Some(why.clone()))
    } else if with == free {
        (Verdict::Unavailable, Some("the act succeeded behind the wall".to_owned()))
    } else {
        (Verdict::Untested, Some(format!("stopped by something else: {with} instead of {stopped}")))
    };
    ActRow { act, control: without, got_through: with == free, result: with, verdict, reason }
}

fn ask(node: &Node, flags: &[String]) -> Result<Found, String> {
    let mut arguments: Vec<&str> = flags.iter().map(String::as_str).collect();
    arguments.extend(["-e", SCRIPT]);
    let said = node.say(&arguments).map_err(|error: NodeError| error.to_string().lines().next().unwrap_or_default().to_owned())?;
    serde_json::from_str(&said).map_err(|_| "the script's answer is not one".to_owned())
}

async fn run(supervisor: &Supervisor, body: &str) -> RunReport {
    let catalog = FileCatalog::from_str("[]", "doctor");
    match catalog {
        Ok(catalog) => {
            let catalog: Arc<dyn Catalog> = Arc::new(catalog);
            supervisor.run(RunRequest::new(body), catalog).await
        }
        Err(error) => unreachable!("an empty list is a catalog: {error}"),
    }
}
