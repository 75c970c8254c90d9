//! What a client hears while a body runs: progress for each call, and the lines of the console.
#![expect(deprecated, reason = "the protocol's newest revision gives up log messages; clients of the others have nothing else")]

use std::future::Future;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken};
use rmcp::service::Peer;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::catalog::cleaned_line;
use crate::run::{LogEntry, RunEvent};
use codemode_protocol::Level;

/// News that wait for a slow client. What does not find room is not told: a run never waits for it, and the result has it all.
const WAITING: usize = 256;
/// How long a result waits for the news before it.
const PATIENCE: Duration = Duration::from_secs(1);
/// Characters of an id in a line about it.
const ID_CHARS: usize = 128;

/// What a client wants to hear of one request.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// The token under which it wants progress.
    pub(super) progress: Option<ProgressToken>,
    /// The least severe line that it wants.
    pub(super) level: Option<LoggingLevel>,
}

/// Hears a run and tells the client.
#[derive(Debug)]
pub(super) struct News {
    wanted: Wanted,
    told: f64,
    send: mpsc::Sender<Piece>,
    telling: JoinHandle<()>,
}

#[derive(Debug)]
enum Piece {
    Progress(ProgressNotificationParam),
    Line(LoggingMessageNotificationParam),
}

impl News {
    pub(super) fn new(peer: Peer<RoleServer>, wanted: Wanted) -> News {
        let (send, receive) = mpsc::channel(WAITING);
        News { wanted, told: 0.0, send, telling: tokio::spawn(tell(peer, receive)) }
    }

    pub(super) fn hear(&mut self, event: &RunEvent) {
        match event {
            RunEvent::CallSent { id, .. } => self.progress(format!("calling {}", cleaned_line(id, ID_CHARS))),
            RunEvent::CallEnded(entry) => {
                let what = match &entry.id {
                    Some(id) => format!("{} {}", entry.method.as_str(), cleaned_line(id, ID_CHARS)),
                    None => entry.method.as_str().to_owned(),
                };
                self.progress(format!("{what}: {} after {} ms", entry.state.as_str(), entry.duration.as_millis()));
            }
            RunEvent::Log(entry) => self.line(entry),
            _ => {}
        }
    }

    fn progress(&mut self, message: String) {
        let Some(token) = &self.wanted.progress else { return };
        self.told += 1.0;
        let progress = ProgressNotificationParam::new(token.clone(), self.told).with_message(message);
        self.put(Piece::Progress(progress));
    }

    fn line(&self, entry: &LogEntry) {
        let level = match entry.level {
            Level::Log => LoggingLevel::Info,
            Level::Warn => LoggingLevel::Warning,
            Level::Error => LoggingLevel::Error,
        };
        if self.wanted.level.is_some_and(|least| severity(level) >= severity(least)) {
            self.put(Piece::Line(LoggingMessageNotificationParam::new(level, json!(entry.text)).with_logger("console")));
        }
    }

    fn put(&self, piece: Piece) {
        // No room, or no client: see `WAITING`.
        let _ = self.send.try_send(piece);
    }

    /// Waits until all is told, so that nothing comes behind the result; not for long, and not beyond `stop`.
    pub(super) async fn end(self, stop: impl Future<Output = ()>) {
        let News { send, mut telling, .. } = self;
        drop(send);
        tokio::select! {
            _ = timeout(PATIENCE, &mut telling) => {}
            () = stop => {}
        }
        telling.abort();
    }
}

async fn tell(peer: Peer<RoleServer>, mut pieces: mpsc::Receiver<Piece>) {
    while let Some(piece) = pieces.recv().await {
        let told = match piece {
            Piece::Progress(progress) => peer.notify_progress(progress).await,
            Piece::Line(line) => peer.notify_logging_message(line).await,
        };
        if told.is_err() {
            return;
        }
    }
}

/// Levels in their order.
pub(super) fn severity(level: LoggingLevel) -> usize {
    use LoggingLevel::{Alert, Critical, Debug, Emergency, Error, Info, Notice, Warning};
    const ORDER: [LoggingLevel; 8] = [Debug, Info, Notice, Warning, Error, Critical, Alert, Emergency];
    ORDER.iter().position(|one| *one == level).unwrap_or(0)
}
