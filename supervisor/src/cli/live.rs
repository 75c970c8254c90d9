//! What a run tells while it goes on: calls and logs, a line each as they happen, and on a terminal one line that says what is waited for.
//!
//! A thread of its own writes. A terminal that is stopped, or a pipe that nobody reads, then holds up this thread and not the one that keeps the
//! run's time.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::approve::is_asking;
use super::paint::{Paint, columns};
use super::show;
use super::table::cut;
use crate::catalog::visible::visible_line;
use crate::run::{LogEntry, RunEvent, RunReport};

/// A run that is over sooner shows no progress: a line that flashes tells nobody anything.
const PROGRESS_AFTER: Duration = Duration::from_millis(300);

const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// Columns that a line about a call has besides the id.
const CALL_FACTS: usize = 40;

/// Entries shown of the end of a console that was too long to be told whole.
const LAST_ENTRIES: usize = 5;

enum Told {
    Lines(String),
    Doing(String),
}

/// Tells about one run.
pub(super) struct Live {
    teller: Option<(Sender<Told>, JoinHandle<()>)>,
    paint: Paint,
    columns: usize,
    /// A report has the calls.
    calls_too: bool,
    open: Vec<(u64, String)>,
    told_log_bytes: usize,
}

impl Live {
    /// Begins; `calls_too`: tell about calls and progress, not only about logs.
    pub(super) fn new(calls_too: bool) -> Live {
        let progress = calls_too && io::stderr().is_terminal();
        let (sender, receiver) = mpsc::channel();
        let thread = thread::Builder::new().name("codemode-teller".to_owned()).spawn(move || serve(&receiver, progress));
        // No thread to be had: then the lines are written where they come up.
        let teller = thread.ok().map(|thread| (sender, thread));
        Live { teller, paint: Paint::stderr(), columns: columns(), calls_too, open: Vec::new(), told_log_bytes: 0 }
    }

    /// Tells about a step.
    pub(super) fn tell(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Log(entry) => {
                self.told_log_bytes += entry.cost();
                self.line(show::log(entry, self.paint));
            }
            RunEvent::CallSent { seq, id } => {
                self.open.push((*seq, id.clone()));
                self.doing();
            }
            RunEvent::CallEnded(entry) => {
                self.open.retain(|(seq, _)| *seq != entry.seq);
                if self.calls_too {
                    self.line(show::call(entry, self.columns.saturating_sub(CALL_FACTS), self.paint));
                }
                self.doing();
            }
            RunEvent::Confined(_) => self.doing(),
            _ => {}
        }
    }

    /// Tells what was not told on the way, and ends.
    pub(super) fn end(mut self, report: &RunReport) {
        if report.logs_dropped > 0 {
            let told_whole = self.told_log_bytes < usize::try_from(report.resources.limits.console_bytes()).unwrap_or(usize::MAX);
            let what = format!("{} bytes of the console are left out", report.logs_dropped);
            let note = if told_whole { what } else { format!("{what}; its last entries:") };
            self.line(format!("{} {note}", self.paint.warning("note:")));
            if !told_whole {
                let last: &[LogEntry] = &report.logs[report.logs.len().saturating_sub(LAST_ENTRIES)..];
                for entry in last {
                    self.line(show::log(entry, self.paint));
                }
            }
        }
        self.finish();
    }

    /// Ends without a report.
    pub(super) fn finish(self) {
        if let Some((sender, thread)) = self.teller {
            drop(sender);
            // It does not panic; if it did there would be nothing more to tell.
            let _ = thread.join();
        }
    }

    fn line(&mut self, mut line: String) {
        line.push('\n');
        match &self.teller {
            // It listens until the sender is gone.
            Some((sender, _)) => drop(sender.send(Told::Lines(line))),
            None => show::to_stderr(&line),
        }
    }

    fn doing(&mut self) {
        let doing = match self.open.as_slice() {
            [] => "running".to_owned(),
            [(_, id)] => format!("waiting for {}", visible_line(id)),
            [(_, id), more @ ..] => format!("waiting for {} and {} more", visible_line(id), more.len()),
        };
        if let Some((sender, _)) = self.teller.as_ref().filter(|_| self.calls_too) {
            let _ = sender.send(Told::Doing(doing));
        }
    }
}

fn serve(told: &Receiver<Told>, progress: bool) {
    let mut line = Progress { began: Instant::now(), doing: "starting".to_owned(), drawn: false };
    // What comes while a person is asked something waits for the answer: a body could write a question of its own. Its console is bounded, and so is this.
    let mut held = String::new();
    loop {
        let waits = progress || !held.is_empty();
        let next = if waits { told.recv_timeout(PROGRESS_EVERY) } else { told.recv().map_err(|_| RecvTimeoutError::Disconnected) };
        let over = matches!(next, Err(RecvTimeoutError::Disconnected));
        match next {
            Ok(Told::Lines(text)) => held.push_str(&text),
            Ok(Told::Doing(doing)) => line.doing = doing,
            Err(RecvTimeoutError::Timeout) if progress && !is_asking() => line.draw(),
            Err(_) => {}
        }
        if is_asking() && !over {
            // The question has cleared the line.
            line.drawn = false;
            continue;
        }
        if !held.is_empty() {
            line.clear();
            show::to_stderr(&std::mem::take(&mut held));
        }
        if over {
            return line.clear();
        }
    }
}

/// The line at the bottom that says what is waited for.
struct Progress {
    began: Instant,
    doing: String,
    drawn: bool,
}

impl Progress {
    fn draw(&mut self) {
        let time = self.began.elapsed();
        if time < PROGRESS_AFTER {
            return;
        }
        let text = cut(&format!("  {:.1} s  {}", time.as_secs_f64(), self.doing), columns() - 1);
        show::to_stderr(&format!("\r\u{1b}[K{}", Paint::stderr().aside(&text)));
        self.drawn = true;
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            show::to_stderr("\r\u{1b}[K");
        }
    }
}
