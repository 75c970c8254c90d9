//! The conversations of `protocol/vectors`, held with a whole supervisor instead of a session alone.

use std::fs;
use std::sync::Arc;

use codemode::{ErrorCode, Limit, RunReport, RunRequest};
use codemode_tests::host;
use codemode_tests::rig::{self, code, message};
use codemode_tests::script::{Script, Step, framed, hex};
use serde_json::Value;

use crate::child::{run_with, serves_on};

/// Conversations at once.
const AT_ONCE: usize = 4;

/// Whoever launches a child sends `run` at once, so here nothing can come before it; whether it does is for the session's own tests.
const NEVER_TOO_EARLY: [&str; 3] = ["answer-before-run", "call-before-run", "console-before-run"];
/// A tool of theirs answers one call and not the other, which no catalog here does.
const NEEDS_TWO_SPEEDS: &str = "answer-with-one-of-two-open";
/// What comes behind the answer is a violation when it is read together with it, and read by nobody when it comes later.
const BEHIND_THE_ANSWER: [&str; 6] = [
    "call-after-the-answer",
    "console-after-the-answer",
    "error-after-the-answer",
    "garbage-after-the-answer",
    "half-a-frame-after-the-answer",
    "second-answer",
];

struct Vector {
    name: String,
    json: Value,
}

fn vectors(folder: &str) -> Vec<Vector> {
    let entries = fs::read_dir(host::repository().join("protocol/vectors").join(folder)).expect("the vectors");
    let mut all: Vec<Vector> = entries
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let json = serde_json::from_slice(&fs::read(&path).expect("readable")).expect("a conversation");
            Vector { name, json }
        })
        .collect();
    all.sort_by(|one, two| one.name.cmp(&two.name));
    all
}

impl Vector {
    /// What the child of this conversation does; it reads whatever the other end is said to send.
    fn script(&self) -> Script {
        let mut script = Script::new();
        for step in self.json["steps"].as_array().expect("steps") {
            script = match (step["from"].as_str(), step["eof"].as_bool()) {
                (Some("child"), Some(true)) => script.step(Step::Exit(0)),
                (Some("child"), _) => script.step(written(step)),
                (_, Some(true)) => script.step(Step::ReadToEnd),
                _ => script.step(Step::Read),
            };
        }
        script.step(Step::ReadToEnd)
    }

    fn request(&self) -> RunRequest {
        let mut limits = rig::limits(&[(Limit::WallMs, 8_000)]);
        for (name, value) in self.json["limits"].as_object().into_iter().flatten() {
            let limit = Limit::ALL.into_iter().find(|limit| limit.name() == name).expect("a limit");
            limits = limits.with(limit, value.as_u64().expect("a number")).expect("inside its bounds");
        }
        RunRequest::new("return 1").with_limits(limits)
    }

    fn kind(&self) -> &str {
        self.json["violation"]["kind"].as_str().unwrap_or_default()
    }

    /// Conversations at a frame limit of their own are for the decoder: a run's follows from its limits.
    fn is_of_a_run(&self) -> bool {
        self.json["frameLimit"].is_null() && !self.name.starts_with("supervisor-")
    }

    async fn hold(self) -> (Vector, RunReport) {
        // A conversation about open requests needs a tool that does not answer; in every other one it must.
        let delay = if self.kind() == "open_requests" { 60_000 } else { 0 };
        let note = format!(
            r#"[{{"id": "demo:note", "name": "note", "description": "n", "parameters": {{"type": "object"}}, "reply": {{"value": 1, "delayMs": {delay}}}}}]"#
        );
        let report = run_with(self.script(), self.request(), rig::catalog(&note)).await;
        (self, report)
    }
}

fn written(step: &Value) -> Step {
    let times = step["times"].as_u64().map_or(1, |times| usize::try_from(times).expect("small"));
    let text = if let Some(digits) = step["hex"].as_str() {
        return Step::Write { hex: digits.to_owned(), times, piece: 0 };
    } else if let Some(text) = step["text"].as_str() {
        text.to_owned()
    } else if let Some(parts) = step["parts"].as_array() {
        parts
            .iter()
            .map(|part| part[0].as_str().expect("text").repeat(usize::try_from(part[1].as_u64().expect("a number")).expect("small")))
            .collect()
    } else {
        step["json"].to_string()
    };
    Step::Write { hex: hex(&framed(&text)), times, piece: 0 }
}

async fn hold_all(vectors: Vec<Vector>) -> Vec<(Vector, RunReport)> {
    let turns = Arc::new(tokio::sync::Semaphore::new(AT_ONCE));
    let runs: Vec<_> = vectors
        .into_iter()
        .map(|vector| {
            let turns = turns.clone();
            tokio::spawn(async move {
                let _turn = turns.acquire().await.expect("never closed");
                vector.hold().await
            })
        })
        .collect();
    let mut held = Vec::new();
    for run in runs {
        held.push(run.await.expect("a run gives a report"));
    }
    held
}

#[test]
fn every_valid_conversation_ends_well() {
    rig::together(async {
        let all: Vec<_> = vectors("valid").into_iter().filter(Vector::is_of_a_run).collect();
        assert!(all.len() > 40, "{}", all.len());
        let mut wrong = Vec::new();
        for (vector, report) in hold_all(all).await {
            let claims = [
                "memory_limit",
                "output_limit",
                "call_limit",
                "never_settles",
                "invalid_body",
                "syntax_error",
                "body_error",
                "unhandled_rejection",
            ];
            let ended = code(&report).map_or("ok", ErrorCode::as_str);
            // Said by the conversation itself: an answer, a claim, or an end between frames.
            let left = vector.name == "end-before-run" && ended == "child_crashed";
            if ended != "ok" && !claims.contains(&ended) && !left {
                wrong.push(format!("{}: {:?}", vector.name, report.error));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}

#[test]
fn every_invalid_conversation_ends_as_its_violation() {
    rig::together(async {
        let skipped: Vec<&str> = NEVER_TOO_EARLY.into_iter().chain(BEHIND_THE_ANSWER).chain([NEEDS_TWO_SPEEDS]).collect();
        let all: Vec<_> =
            vectors("invalid").into_iter().filter(|vector| vector.is_of_a_run() && !skipped.contains(&vector.name.as_str())).collect();
        assert!(all.len() > 100, "{}", all.len());
        let mut wrong = Vec::new();
        for (vector, report) in hold_all(all).await {
            if code(&report) != Some(ErrorCode::ProtocolViolation) || !message(&report).contains(vector.kind()) {
                wrong.push(format!("{} ({}): {:?}", vector.name, vector.kind(), report.error));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        serves_on().await;
    });
}

#[test]
fn what_comes_behind_the_answer_changes_nothing() {
    rig::together(async {
        let all: Vec<_> = vectors("invalid").into_iter().filter(|vector| BEHIND_THE_ANSWER.contains(&vector.name.as_str())).collect();
        assert_eq!(all.len(), BEHIND_THE_ANSWER.len());
        for (vector, report) in hold_all(all).await {
            let ends = [None, Some(ErrorCode::ProtocolViolation)];
            assert!(ends.contains(&code(&report)), "{}: {:?}", vector.name, report.error);
            assert!(report.calls.is_empty() && report.logs.is_empty(), "{}", vector.name);
        }
    });
}
