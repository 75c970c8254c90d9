//! One run of a gateway, from the offer to the report.

use std::sync::Arc;
use std::time::Duration;

use codemode_protocol::gateway::RunName;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use super::claim::{NotClaimed, claimed};
use super::desk::{Desk, Shared};
use super::talk::{Heard, Talk};
use super::{clock, report, start};
use crate::catalog::Catalog;
use crate::fleet::id::Id;
use crate::fleet::link::{Link, LinkFault};
use crate::fleet::post::{Mailbox, Post};
use crate::fleet::subjects::End;
use crate::fleet::wire::{Claim, Kind, Parcel};
use crate::run::{ErrorCode, RunError, RunEvent, RunReport, RunRequest, never_begun, summary_of, without_child};

/// Bytes of a message of a worker at most: the report of a run at its hard caps.
const MOST_TEXT: usize = 64 << 20;

/// A run that is to be done.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) post: Arc<Post>,
    pub(super) request: RunRequest,
    pub(super) catalog: Arc<dyn Catalog>,
    pub(super) events: Option<mpsc::UnboundedSender<RunEvent>>,
    pub(super) cancelled: watch::Receiver<bool>,
    /// A worker has claimed it.
    pub(super) is_begun: bool,
}

impl Job {
    /// To its report.
    pub(super) async fn done(mut self) -> RunReport {
        let shared = Arc::new(Shared::new(&self.request.limits, self.events.take(), Instant::now()));
        let mut report = self.reported(&shared).await;
        report.timing.total = shared.now();
        let code = report.error.as_ref().map(|error| error.code);
        tracing::Span::current().record("codemode.verdict", code.map_or("ok", ErrorCode::as_str));
        // What was never begun has no events, as here.
        if !self.is_begun {
            return report;
        }
        shared.tell(|| RunEvent::Concluded {
            value: report.value.clone(),
            value_type: report.value_type,
            error: report.error.clone().map(Box::new),
        });
        shared.tell(|| RunEvent::Ended { code });
        report
    }

    async fn reported(&mut self, shared: &Arc<Shared>) -> RunReport {
        let limits = self.request.limits;
        let failed = |job: &Job, error: RunError| without_child(&*job.catalog, limits, error);
        let body = match self.request.take_body() {
            Ok(body) => body,
            Err(problem) => return failed(self, problem.into()),
        };
        let claim = match claimed(&self.post, &mut self.cancelled).await {
            Ok(claim) => claim,
            Err(NotClaimed::Cancelled) => return never_begun(&*self.catalog, limits),
            Err(NotClaimed::Busy) => return failed(self, busy()),
            Err(NotClaimed::NoRandomBits) => return failed(self, no_random_bits()),
        };
        self.is_begun = true;
        shared.tell(|| RunEvent::Started);
        tracing::Span::current().record("codemode.fleet.worker", claim.worker.as_str());
        let (mailbox, token, name) = match (self.post.mailbox(), Id::random(), self.name()) {
            (Ok(mailbox), Ok(token), Some(name)) => (mailbox, token, name),
            _ => return failed(self, no_random_bits()),
        };
        let to = self.post.subjects().inbox(End::Worker, &claim.worker, &claim.inbox);
        let handed_over = shared.now();
        if self.hand_over(&to, &mailbox, token).await.is_err() {
            return failed(self, lost(&LinkFault::Untaken, &claim));
        }
        let run_id: Arc<str> = name.as_str().into();
        let link = Link { post: Arc::clone(&self.post), mailbox, to, end: End::Gateway, token, sent: 1, heard: 0, limit: MOST_TEXT };
        let gate = Arc::clone(&self.request.gate);
        let desk = Desk::new(Arc::clone(&gate), Arc::clone(&self.catalog), run_id, limits, Arc::clone(shared));
        let (texts, outgoing) = mpsc::unbounded_channel();
        let start = start::start(name, body, &limits, &self.request.context, &gate, shared.has_listener());
        let mut talk = Talk::begin(start, texts, desk, Arc::clone(shared), limits);
        let spoken = self.speak(&mut talk, link, outgoing, shared, handed_over, &claim).await;
        // From here on nothing is sent to a backend, whatever a task is about to do.
        shared.book().close(shared.now());
        let read = spoken.and_then(|(text, was_cancelled)| {
            let mut read =
                report::read(&text, &limits, &shared.book(), summary_of(&*self.catalog)).map_err(|fault| broken(&fault, &claim))?;
            report::renamed(&mut read, was_cancelled);
            Ok(read)
        });
        read.unwrap_or_else(|error| {
            let logs = std::mem::take(&mut talk.logs);
            report::without(failed(self, error), logs, &shared.book(), summary_of(&*self.catalog), shared.now())
        })
    }

    /// Until the report is there; and whether the run was cancelled here.
    async fn speak(
        &mut self,
        talk: &mut Talk,
        link: Link,
        outgoing: mpsc::UnboundedReceiver<Vec<u8>>,
        shared: &Shared,
        handed_over: Duration,
        claim: &Claim,
    ) -> Result<(codemode_protocol::JsonText, bool), RunError> {
        let (taken, mut incoming) = mpsc::channel(1);
        let mut carrying = std::pin::pin!(link.carry(outgoing, taken));
        let began = Instant::now();
        let mut cancelled_at = None;
        loop {
            let ends_at = clock::ends_at(&self.request.limits, shared.approvals(), cancelled_at);
            // Clocks and the caller first: a worker that speaks without a pause must not hold them up.
            tokio::select! {
                biased;
                () = sleep_until(began + ends_at) => {
                    // An approval may have begun meanwhile.
                    if began.elapsed() >= clock::ends_at(&self.request.limits, shared.approvals(), cancelled_at) {
                        return Err(late(cancelled_at.is_some(), began.elapsed() + handed_over, claim));
                    }
                }
                // The sender lives as long as the handle; without one the run is cancelled too.
                _ = self.cancelled.wait_for(|cancelled| *cancelled), if cancelled_at.is_none() => {
                    cancelled_at = Some(began.elapsed());
                    talk.cancel();
                }
                Some(text) = incoming.recv() => match talk.hear(&text).map_err(|fault| broken(&fault, claim))? {
                    Heard::GoesOn => {}
                    Heard::Refused(error) => return Err(error),
                    Heard::Finished(report) => return Ok((report, cancelled_at.is_some())),
                },
                text = talk.desk.next() => talk.say(text),
                carried = &mut carrying => {
                    // It has no last text while `talk` may say something.
                    let fault = carried.err().unwrap_or(LinkFault::Gone);
                    return Err(if fault.code() == ErrorCode::WorkerLost { lost(&fault, claim) } else { broken(&fault, claim) });
                }
            }
        }
    }

    /// From here on the worker has the run, and nobody else gets it.
    async fn hand_over(&self, to: &str, mailbox: &Mailbox, token: Id) -> Result<(), crate::fleet::post::Untaken> {
        let own = self.post.subject_of(mailbox);
        let message = Parcel { kind: Kind::Open, end: End::Gateway, token, number: 1, heard: 0, bytes: own.as_bytes() }.write();
        match &self.request.trace_parent {
            Some(parent) => self.post.send_in(parent, to, message).await,
            None => self.post.send(to, message).await,
        }
    }

    /// What both ends call the run in their logs.
    fn name(&self) -> Option<RunName> {
        let own = self.request.run_id.as_deref().and_then(RunName::new);
        own.or_else(|| RunName::new(Id::random().ok()?.hex()))
    }
}

fn busy() -> RunError {
    RunError::new(ErrorCode::Busy, "no worker took the run within 100 ms\nstart it again later, or start more workers")
}

fn no_random_bits() -> RunError {
    RunError::internal("the host gives no random bits")
}

fn lost(fault: &LinkFault, claim: &Claim) -> RunError {
    let message = format!(
        "the worker {} is lost: {fault}\nonly calls that are `unknown` may have happened; decide by them whether to run the body again",
        claim.worker.as_str()
    );
    RunError::new(ErrorCode::WorkerLost, message)
}

fn broken(fault: &dyn std::fmt::Display, claim: &Claim) -> RunError {
    let message = format!("the worker {}, or somebody in its name, broke the wire: {fault}\nlook at that worker", claim.worker.as_str());
    RunError::new(ErrorCode::ProtocolViolation, message)
}

fn late(is_cancelled: bool, after: Duration, claim: &Claim) -> RunError {
    if is_cancelled {
        return RunError::new(
            ErrorCode::Cancelled,
            format!("the run was cancelled; the worker {} did not say that it ended", claim.worker.as_str()),
        );
    }
    let message = format!(
        "the worker {} did not end the run within its limits, {} ms\nlook at that worker",
        claim.worker.as_str(),
        after.as_millis()
    );
    RunError::new(ErrorCode::Timeout, message)
}
