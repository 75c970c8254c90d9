//! One child's channel.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::os::fd::AsRawFd;

use codemode_protocol::frame::PREFIX_BYTES;
use codemode_protocol::{Decoder, JsonText, Received, ReplyError, RequestId, Run, RunLimits, SupervisorSession, Violation, WireError};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};
use tokio::io::Interest;
use tokio::net::UnixStream;

/// Frames given to one `writev`: enough for a burst of small replies, and no long list on the stack.
const FRAMES_AT_ONCE: usize = 16;

/// What came of waiting.
#[derive(Debug)]
pub(crate) enum Turn {
    /// A legal message.
    Received(Received),
    /// The child broke the wire; nothing will be read any more.
    Violation(Violation),
    /// The child closed its end, between two frames.
    Closed,
    /// The child closed its end within a frame, or was ended there: how it ends tells which.
    Torn(Violation),
}

/// The supervisor's end of a run's socket pair.
#[derive(Debug)]
pub(crate) struct Bridge {
    stream: UnixStream,
    decoder: Decoder,
    session: SupervisorSession,
    in_flight: usize,
    /// Frames not wholly written. With the open requests at most `in_flight`, since no request is taken above that: so a child that asks and never
    /// reads makes us hold `in_flight` results and no more.
    out: VecDeque<Vec<u8>>,
    /// Bytes of the first of them that are written.
    written: usize,
    /// The child does not take frames any more. It may still have sent some.
    deaf: bool,
    /// [`Turn::Closed`] or a violation was given.
    over: bool,
}

impl Bridge {
    pub(crate) fn new(stream: UnixStream, limits: &RunLimits) -> Self {
        let session = SupervisorSession::new(limits);
        Bridge {
            stream,
            decoder: Decoder::new(session.frame_limit()),
            session,
            // At most 128 by its cap.
            in_flight: limits.in_flight() as usize,
            out: VecDeque::new(),
            written: 0,
            deaf: false,
            over: false,
        }
    }

    /// Queues the body.
    pub(crate) fn send_run(&mut self, run: &Run) -> Result<(), ReplyError> {
        let frame = self.session.run(run)?;
        self.queue(frame);
        Ok(())
    }

    /// Queues the answer to a request.
    pub(crate) fn reply(&mut self, id: RequestId, result: Result<&JsonText, &WireError>) -> Result<(), ReplyError> {
        let frame = match result {
            Ok(value) => self.session.reply(id, value)?,
            Err(error) => self.session.refuse(id, error)?,
        };
        self.queue(frame);
        Ok(())
    }

    /// Waits for the next message, and writes what is queued meanwhile.
    ///
    /// Cancel-safe: what was read is in the decoder and what was written is counted, both in `self`. After anything but a message it waits
    /// for ever once the queue is written.
    pub(crate) async fn turn(&mut self) -> Turn {
        loop {
            // Messages that are here cost no waiting: whoever sends more than can be worked off would keep this thread, and with it the timers of a runtime.
            tokio::task::consume_budget().await;
            // Messages that are here already come before any system call: a burst of requests is then answered with one write.
            if let Some(turn) = self.take() {
                return turn;
            }
            self.write();
            let ready = match (self.reads(), self.out.is_empty()) {
                (true, true) => self.stream.ready(Interest::READABLE).await,
                (true, false) => self.stream.ready(Interest::READABLE | Interest::WRITABLE).await,
                (false, false) => self.stream.ready(Interest::WRITABLE).await,
                (false, true) => std::future::pending().await,
            };
            // The runtime is going down: the child cannot be talked to any more.
            let Ok(ready) = ready else { return self.closed() };
            if ready.is_readable() && self.reads() {
                match self.stream.try_read(self.decoder.space()) {
                    Ok(0) => return self.closed(),
                    Ok(bytes) => self.decoder.filled(bytes),
                    Err(error) if waits(&error) => {}
                    Err(_) => return self.closed(),
                }
            }
        }
    }

    /// Reads what a child that has ended has left in the socket, without waiting; then [`next_leftover`](Self::next_leftover) gives it.
    ///
    /// It goes past the runtime, which may not have been told yet that there is something to read.
    pub(crate) fn drain(&mut self) {
        // Nobody fills the socket any more, so this ends by itself; the bound only holds if that were not so.
        let mut left = self.session.frame_limit().bytes() + PREFIX_BYTES;
        while !self.over && left > 0 {
            match recv(self.stream.as_raw_fd(), self.decoder.space(), MsgFlags::MSG_DONTWAIT) {
                Err(Errno::EINTR) => {}
                Ok(0) | Err(_) => return,
                Ok(bytes) => {
                    self.decoder.filled(bytes);
                    left = left.saturating_sub(bytes);
                }
            }
        }
    }

    /// The next of the messages that a child has left behind; at last [`Turn::Closed`], or the half of a frame.
    pub(crate) fn next_leftover(&mut self) -> Turn {
        if self.over {
            return Turn::Closed;
        }
        self.receive().unwrap_or_else(|| self.closed())
    }

    fn queue(&mut self, frame: Vec<u8>) {
        if !self.deaf {
            self.out.push_back(frame);
        }
    }

    /// Whether a further message would be taken.
    fn reads(&self) -> bool {
        !self.over && !self.session.is_full() && self.session.open() + self.out.len() < self.in_flight.max(2)
    }

    /// The next message that is here, if one is wanted.
    fn take(&mut self) -> Option<Turn> {
        if self.reads() { self.receive() } else { None }
    }

    fn receive(&mut self) -> Option<Turn> {
        let received = match self.decoder.next() {
            Ok(None) => return None,
            Ok(Some(frame)) => self.session.receive(frame),
            Err(error) => Err(error.into()),
        };
        Some(match received {
            Ok(Received::Answer(answer)) => match self.nothing_more() {
                Ok(()) => Turn::Received(Received::Answer(answer)),
                Err(violation) => self.broken(violation),
            },
            Ok(received) => Turn::Received(received),
            Err(violation) => self.broken(violation),
        })
    }

    /// Bytes behind the answer are a violation, whole frame or not.
    fn nothing_more(&mut self) -> Result<(), Violation> {
        if let Some(frame) = self.decoder.next()? {
            self.session.receive(frame)?;
        }
        Ok(self.decoder.finish()?)
    }

    fn closed(&mut self) -> Turn {
        self.over = true;
        match self.decoder.finish() {
            Ok(()) => Turn::Closed,
            Err(error) => Turn::Torn(error.into()),
        }
    }

    fn broken(&mut self, violation: Violation) -> Turn {
        self.over = true;
        Turn::Violation(violation)
    }

    /// Writes as much as the socket takes.
    fn write(&mut self) {
        while let Some(first) = self.out.front() {
            let mut slices = [IoSlice::new(&[]); FRAMES_AT_ONCE];
            slices[0] = IoSlice::new(&first[self.written..]);
            for (slice, frame) in slices[1..].iter_mut().zip(self.out.iter().skip(1)) {
                *slice = IoSlice::new(frame);
            }
            let count = self.out.len().min(FRAMES_AT_ONCE);
            match self.stream.try_write_vectored(&slices[..count]) {
                Ok(bytes) => self.wrote(bytes),
                Err(error) if waits(&error) => return,
                // It has closed its end for reading, or is gone; the reading side and the process tell which.
                Err(_) => {
                    self.deaf = true;
                    self.out.clear();
                }
            }
        }
    }

    fn wrote(&mut self, bytes: usize) {
        self.written += bytes;
        while let Some(first) = self.out.front() {
            if self.written < first.len() {
                return;
            }
            self.written -= first.len();
            self.out.pop_front();
        }
    }
}

fn waits(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
