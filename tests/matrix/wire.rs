//! Rows made of frames: a child that belongs to the attacker, before the supervisor and before a host that believes it.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use codemode::catalog::Catalog;
use codemode_tests::rig;
use codemode_tests::script::{Script, Step, framed, hello, hex, unhex};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::Command;

use crate::cells::{Around, Backend, seen};
use crate::scene::Seen;

const CHILD: &str = env!("CARGO_BIN_EXE_scripted_child");

/// Tries a script; the reason when it could not be tried.
///
/// # Errors
///
/// When the stand-in cannot be started.
///
/// # Panics
///
/// When the script of the row cannot be read.
pub async fn attempt(text: &str, around: Around, clock: Duration) -> Result<(Seen, String), String> {
    let script = parse(text).write();
    if around == Around::Nothing {
        return credulous(script.path(), clock).await.map_err(|error| error.to_string());
    }
    let path = script.path().to_str().ok_or("a path of text")?;
    let supervisor = rig::stand_in(CHILD, &[path]);
    let backend = Backend::new();
    let wall = u64::try_from(clock.as_millis()).unwrap_or(u64::MAX).saturating_sub(1_000);
    let report = supervisor.run(rig::request("return 1", wall), Arc::clone(&backend) as Arc<dyn Catalog>).await;
    let mut seen = seen(&report, &backend, clock);
    seen.peak = seen.told.len() as u64;
    let how = report.error.map_or_else(|| "ok".to_owned(), |error| format!("{}: {}", error.code.as_str(), error.message));
    Ok((seen, how.chars().take(90).collect()))
}

/// A script, one step a line. It begins with a greeting and the run request unless its first line is `bare`.
///
/// # Panics
///
/// When a line is no step.
pub fn parse(text: &str) -> Script {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let (bare, lines) = match lines.split_first() {
        Some((&"bare", rest)) => (true, rest),
        _ => (false, &lines[..]),
    };
    let script = if bare { Script::new() } else { Script::greeted() };
    lines.iter().fold(script, |script, line| step(script, line))
}

fn step(script: Script, line: &str) -> Script {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let count = |rest: &str| {
        let (count, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        (count.parse::<usize>().expect("a count"), rest.to_owned())
    };
    match word {
        "hello" => script.send(&hello()),
        "read" => script.step(Step::Read),
        "read-all" => script.step(Step::ReadToEnd),
        "send" => script.bytes(&framed(rest)),
        "drip" => script.pieces(&framed(rest), 1),
        "raw" => script.bytes(&unhex(rest)),
        "half" => {
            let bytes = framed(rest);
            script.bytes(&bytes[..bytes.len() / 2])
        }
        // A frame with more behind it in the same write.
        "glued" => script.bytes(&[framed(rest), vec![0, 0, 0]].concat()),
        "repeat" => {
            let (times, text) = count(rest);
            script.step(Step::Write { hex: hex(&framed(&text)), times, piece: 0 })
        }
        "long" => {
            let (length, text) = count(rest);
            script.bytes(&framed(&text.replace("LONG", &"x".repeat(length))))
        }
        "deep" => {
            let (depth, text) = count(rest);
            let nested = format!("{}\"forged\"{}", "[".repeat(depth), "]".repeat(depth));
            script.bytes(&framed(&text.replace("DEEP", &nested)))
        }
        "stderr" => script.step(Step::Stderr(count(rest).0)),
        "shut" => script.step(Step::ShutWrite),
        "close" => script.step(Step::Close),
        "sleep" => script.step(Step::Sleep),
        "spin" => script.step(Step::Spin),
        "exit" => script.step(Step::Exit(rest.parse().expect("a code"))),
        "raise" => script.step(Step::Raise(rest.parse().expect("a signal"))),
        _ => panic!("no step {line}"),
    }
}

/// A host as one would first write it: it reserves what a length says, does what a message asks, takes every answer, the last counts, and has no clock: this
/// test's own stops it.
async fn credulous(script: &Path, clock: Duration) -> std::io::Result<(Seen, String)> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    let second = theirs.try_clone()?;
    let mut command = Command::new(CHILD);
    command.arg(script).stdin(OwnedFd::from(theirs)).stdout(OwnedFd::from(second)).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn()?;
    // Our copies of the child's end go with it: else no end-of-file would come.
    drop(command);
    ours.set_nonblocking(true)?;
    let (mut from, mut to) = UnixStream::from_std(ours)?.into_split();
    let Some(mut errors) = child.stderr.take() else { return Err(std::io::ErrorKind::BrokenPipe.into()) };
    let began = Instant::now();
    let collected = tokio::spawn(async move {
        let mut text = Vec::new();
        // What has come when it ends is what there is.
        let _ = errors.read_to_end(&mut text).await;
        text
    });
    let mut host = Host { backend: Backend::new(), value: String::new(), kept: 0, reserved: 0 };
    let conversation = async {
        // A child that breaks the pipe has only ended early.
        let _ = host.converse(&mut to, &mut from).await;
        child.wait().await
    };
    let ended = tokio::time::timeout(clock, conversation).await;
    let overtime = ended.is_err();
    let status = match ended {
        Ok(status) => Some(status?),
        Err(_) => {
            child.kill().await?;
            None
        }
    };
    let errors = collected.await.unwrap_or_default();
    let ok = status.is_some_and(|status| status.success());
    let told = format!(
        "{}\n{}\nstderr {}",
        json!({ "ok": ok, "value": host.value }),
        host.backend.heard(),
        String::from_utf8_lossy(&errors).chars().take(200).collect::<String>()
    );
    let peak = host.reserved.max(host.kept + errors.len() as u64);
    let seen = Seen { told, value: host.value.clone(), backend: host.backend.heard(), overtime, peak, done: false };
    Ok((seen, format!("after {} ms", began.elapsed().as_millis())))
}

struct Host {
    backend: Arc<Backend>,
    value: String,
    kept: u64,
    reserved: u64,
}

impl Host {
    async fn converse(&mut self, to: &mut OwnedWriteHalf, from: &mut OwnedReadHalf) -> std::io::Result<()> {
        to.write_all(&framed(&json!({"jsonrpc": "2.0", "id": 1, "method": "run", "params": {"body": "return 1"}}).to_string())).await?;
        loop {
            let length = from.read_u32().await?;
            let mut text = Vec::new();
            text.try_reserve_exact(length as usize).map_err(|_| std::io::ErrorKind::OutOfMemory)?;
            self.reserved = self.reserved.max(u64::from(length));
            (&mut *from).take(u64::from(length)).read_to_end(&mut text).await?;
            self.kept += text.len() as u64;
            let Ok(message) = serde_json::from_slice::<Value>(&text) else {
                // What it cannot read it passes on.
                self.value = String::from_utf8_lossy(&text).chars().take(4096).collect();
                continue;
            };
            if let Some(reply) = self.obey(&message) {
                // The child may be gone, and have answered first.
                let _ = to.write_all(&framed(&reply.to_string())).await;
            }
        }
    }

    fn obey(&mut self, message: &Value) -> Option<Value> {
        let message = message.get(0).unwrap_or(message);
        let id = message.get("id").cloned();
        if let Some(outcome) = message.get("result").or_else(|| message.get("error")) {
            self.value = outcome.to_string();
            return None;
        }
        let method = message.get("method")?.as_str()?;
        if matches!(method, "hello" | "console") {
            return None;
        }
        let params = message.get("params").unwrap_or(&Value::Null);
        self.backend.note(format!("{method} {params}"));
        // As large as the caller likes: an answer repeats what was asked.
        Some(json!({"jsonrpc": "2.0", "id": id, "result": params}))
    }
}
