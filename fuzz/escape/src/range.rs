//! Where bodies are tried: a supervisor in one configuration, with witnesses around it.

use std::sync::Arc;

use codemode::catalog::FileCatalog;
use codemode::launch::{LaunchConfig, LaunchError, LauncherChoice, Trial};
use codemode::{ErrorCode, Limit, RunLimits, RunReport, RunRequest, Supervisor};
use codemode_tests::listeners::{CANARY_NAME, CANARY_TEXT, Ears, Heard};

use crate::body::{Aim, Body};
use crate::configuration::Configuration;

/// The tools that bodies call.
const TOOLS: &str = r#"[
    { "id": "noop", "name": "noop", "description": "Does nothing.", "parameters": { "type": "object" }, "reply": { "value": null } },
    { "id": "echo", "name": "echo", "description": "Gives its arguments.", "parameters": { "type": "object" }, "reply": { "echo": true } },
    { "id": "fail", "name": "fail", "description": "Fails.", "parameters": { "type": "object" }, "reply": { "error": { "message": "no", "code": "E_NO" } } },
]"#;

/// The wall clock of a body in milliseconds: a hundred times what most of them take, so that a busy machine does not end them before they have begun.
const WALL_MS: u64 = 2_000;

/// What a body that has the bridge's descriptor answers in the bridge's name.
const FORGED: &str = "\"forged\"";

/// Why there is no range.
#[derive(Debug, thiserror::Error)]
pub enum RangeError {
    /// The host refuses a witness its socket or file.
    #[error("no witness: {0}")]
    Witness(#[from] std::io::Error),
    /// No child can be started.
    #[error(transparent)]
    Launch(#[from] LaunchError),
}

/// A supervisor with witnesses around it.
#[derive(Debug)]
pub struct Range {
    supervisor: Supervisor,
    catalog: Arc<FileCatalog>,
    ears: Ears,
    aim: Aim,
}

/// What became of one body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Outcome {
    /// It was compiled and its first statement was executed.
    pub ran: bool,
    /// How it ended; nothing for a value.
    pub code: Option<ErrorCode>,
    /// What its report shows that it must not have.
    pub find: Option<Find>,
}

/// Something that a body must not reach.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Find {
    /// An object of the main realm: its mark is in the report.
    MainRealm,
    /// The text of the canary file or of this process's environment is in the report.
    Canary,
    /// The answer is none of the bridge's.
    Forged,
    /// The bridge said something that it does not say, or the kernel refused a call that no body can make.
    Violation,
    /// A listener or the canary file was touched.
    Witness,
}

impl Find {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Find::MainRealm => "main realm",
            Find::Canary => "canary",
            Find::Forged => "forged answer",
            Find::Violation => "violation",
            Find::Witness => "witness",
        }
    }
}

impl Range {
    /// Opens the witnesses and makes the supervisor.
    ///
    /// # Errors
    ///
    /// When the host refuses either.
    pub fn open(configuration: Configuration, launcher: LauncherChoice, node: Option<&std::path::Path>) -> Result<Range, RangeError> {
        let ears = Ears::open()?;
        let config = LaunchConfig { node: node.map(Into::into), ..configuration.launch() };
        let supervisor = Supervisor::builder().launch(config).launcher_choice(launcher).build()?;
        let port = |address: std::io::Result<std::net::SocketAddr>| address.map(|address| address.port());
        let aim = Aim {
            file: ears.file().display().to_string(),
            tcp: port(ears.tcp_address())?,
            udp: port(ears.udp_address())?,
            name: ears.abstract_name.clone(),
        };
        let catalog = FileCatalog::from_str(TOOLS, "range").unwrap_or_else(|error| panic!("{error}"));
        Ok(Range { supervisor, catalog: Arc::new(catalog), ears, aim })
    }

    /// Runs a body and looks at its report. What was touched outside is told by [`Range::touched`].
    pub async fn run(&self, body: &Body) -> Outcome {
        let report = self.report(body).await;
        let ran = report.logs.first().is_some_and(|entry| entry.text == "ran");
        Outcome { ran, code: report.error.as_ref().map(|error| error.code), find: find(&report) }
    }

    /// Runs a body and gives its whole report.
    pub async fn report(&self, body: &Body) -> RunReport {
        let limits = RunLimits::default().with(Limit::WallMs, WALL_MS).unwrap_or_default();
        let request = RunRequest::new(body.text(&self.aim)).with_limits(limits);
        self.supervisor.run(request, self.catalog.clone()).await
    }

    /// Runs a body alone: its report's find, or a witness that it touched.
    pub async fn find(&self, body: &Body) -> Option<Find> {
        self.touched();
        let outcome = self.run(body).await;
        let touched = self.touched();
        outcome.find.or(touched.then_some(Find::Witness))
    }

    /// Whether a witness was touched since the last time. The file is put back.
    pub fn touched(&self) -> bool {
        let heard = self.ears.heard();
        if heard.file_changed {
            // If it stays changed, the next look tells so again.
            let _ = std::fs::write(self.ears.file(), CANARY_TEXT);
        }
        heard != Heard::default()
    }

    /// Where the witnesses are.
    pub fn aim(&self) -> &Aim {
        &self.aim
    }
}

/// The environment in which this process must have been started: bodies look for it.
pub fn has_canary() -> bool {
    std::env::var(CANARY_NAME).is_ok_and(|value| value == CANARY_TEXT)
}

fn find(report: &RunReport) -> Option<Find> {
    if report.value.text() == FORGED {
        return Some(Find::Forged);
    }
    let text = serde_json::to_string(report).unwrap_or_default();
    if text.contains(CANARY_TEXT) {
        Some(Find::Canary)
    } else if text.contains(Trial::MARK) {
        Some(Find::MainRealm)
    } else {
        let violations = [ErrorCode::ProtocolViolation, ErrorCode::IsolationViolation];
        report.error.as_ref().filter(|error| violations.contains(&error.code)).map(|_| Find::Violation)
    }
}
