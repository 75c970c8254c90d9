//! Gateways at the socket of a server.

mod conversation;
mod noted;
mod wire;

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use codemode::Supervisor;
use codemode::launch::{LaunchConfig, LauncherChoice};
use codemode::serve::session::{Host, HostLimits};
use codemode::serve::socket::{Server, ServerLimits};
use codemode::telemetry::{Recorder, SessionLog};

use self::conversation::{RUNS_AT_MOST, Scene};
use self::wire::Link;
use crate::table::{NO_RUN, Party, Plan, Seen, ends};
use crate::witness::Place;
use codemode_tests::fault::Fault;

/// Runs of all connections at once: fewer than one connection may have, so that a flood has to wait, too.
const AT_ONCE: usize = 4;

/// Gateways. They all meet one server, as they would; what one of them leaves there is seen.
#[derive(Default)]
pub struct Gateways {
    scene: OnceLock<Scene>,
}

#[async_trait]
impl Party for Gateways {
    fn name(&self) -> &'static str {
        "gateway"
    }

    fn what(&self) -> &'static str {
        "Who starts runs over the socket of `codemode serve` and answers for their tools; here somebody who writes frames by hand, to a server that goes on through all \
         cells and whose children are real. Verdict and ledger are those of the server's session log, and where the gateway can still hear its `run.finished`, that \
         says the same. The connection *stays* (it carries another run to its end), is *closed* without a word, or ends with the `goodbye` that is named. A second \
         connection has a run open meanwhile, which then ends well. A gateway that stays and reads nothing is no cell: it is let go after 60 s (`unread`)."
    }

    fn steps(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("hello", "its first frame"),
            ("run.start", "it starts a run"),
            ("catalog.search", "it is asked for tools"),
            ("catalog.describe", "it is asked about a tool"),
            ("catalog.call", "it is asked to do it"),
            ("approval.request", "its person is asked"),
            ("hook.beforeToolCall", "its hook is asked"),
            ("idle", "its run is over, and it cancels that run, which is no error"),
        ]
    }

    fn plan(&self, step: &'static str, fault: Fault) -> Plan {
        use Fault::{Deaf, Die, Flood, Garbage, Late, Mute, Slowly, Stop, Twice};
        const VIOLATION: &str = "protocol_violation";
        let asked = !matches!(step, "hello" | "run.start" | "idle");
        let connection = match (step, fault) {
            ("hello", Stop) => "hello_timeout",
            (_, Stop | Late | Slowly) => "stays",
            (_, Twice | Garbage) => VIOLATION,
            (_, Flood) if asked || step == "run.start" => "stays",
            (_, Flood) => VIOLATION,
            (_, Die | Mute | Deaf) => "closed",
        };
        // After the step a run asks for tools once more. What was sent and not answered is unknown, what has no effects is cancelled.
        let open = if step == "catalog.call" { "unknown" } else { "cancelled" };
        let (verdict, calls) = match (step, fault) {
            (_, Late | Slowly) | ("run.start", Flood) | ("idle", _) => ("ok", "ok ok"),
            // The run was asked for, and its first question is open.
            ("run.start", Twice) => ("cancelled", "cancelled"),
            // Nobody waits for what is asked: the run may be over before there is a question, or before it is one.
            ("run.start", Die | Deaf) => ("cancelled|no run", "|cancelled"),
            ("hello" | "run.start", _) => (NO_RUN, ""),
            ("approval.request", Stop) => ("timeout", "denied:approval_timeout cancelled"),
            (_, Stop) => ("timeout", open),
            (_, Die | Garbage | Mute) => ("cancelled", open),
            // It has let the call go, and cannot be asked to do it.
            ("approval.request" | "hook.beforeToolCall", Deaf) => ("cancelled", "unknown"),
            (_, Twice | Deaf) => ("cancelled", "ok cancelled"),
            ("catalog.search", Flood) => ("ok", "ok ok"),
            ("catalog.describe", Flood) => ("ok", "refused:too_large ok"),
            ("catalog.call", Flood) => ("ok", "error:too_large ok"),
            ("approval.request", Flood) => ("ok", "denied:approval_denied ok"),
            (_, Flood) => ("ok", "denied:hook_blocked ok"),
        };
        let within = if connection == "hello_timeout" { 14_000 } else { 8_000 };
        let logs = usize::from(!verdict.contains(NO_RUN));
        ends(verdict, calls, within).with_logs(logs).with_connection(connection)
    }

    async fn warm_up(&self, place: &Place) {
        let (socket, log) = (place.folder().join("serve.sock"), place.folder().join("session.jsonl"));
        // Each run is a start of its own, so that children can be counted.
        let build = || Supervisor::builder().launch(LaunchConfig::default()).launcher_choice(LauncherChoice::Spawn).build();
        let supervisor =
            tokio::task::spawn_blocking(build).await.expect("it does not panic").expect("children can be started on this host");
        let recorder = Recorder::default().with_log(Arc::new(SessionLog::open(&log).expect("it is ours")));
        let limits = HostLimits { at_once: AT_ONCE, runs: RUNS_AT_MOST, ..HostLimits::default() };
        let server = Server::bind(&socket, ServerLimits::default()).expect("it is ours");
        // It goes with this process.
        tokio::spawn(server.serve(Host::new(supervisor, limits).with_recorder(recorder), std::future::pending::<()>));
        let scene = self.scene.get_or_init(|| Scene { socket, log });
        let first = scene.clone();
        tokio::task::spawn_blocking(move || Link::greeted(&first.socket)?.runs_well("first"))
            .await
            .expect("it does not panic")
            .expect("it serves");
    }

    async fn run(&self, step: &'static str, fault: Fault, _place: &Place) -> Seen {
        let scene = self.scene.get().expect("it was warmed up").clone();
        let happen = move || scene.happen(step, fault);
        let seen = tokio::task::spawn_blocking(happen).await.unwrap_or_else(|error| Err(error.to_string()));
        seen.unwrap_or_else(|fault| Seen { faults: vec![fault], ..Seen::default() })
    }
}
