//! One connection, from its first byte to the last child of its runs.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use codemode_protocol::gateway::GoodbyeCode;
use interprocess::local_socket::tokio::Stream;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::catalog::gateway::frames::{FrameReader, WriteEnd, write};
use crate::serve::session::{Goodbye, Host, Session};

/// Whoever connects says hello at once; a connection that never does is not a gateway.
const HELLO_WITHIN: Duration = Duration::from_secs(10);
/// What was said before the end may still be read for so long.
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(1);

/// What the server is about to do.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Phase {
    Serving,
    /// No further runs; who has none is let go.
    Draining,
    /// Now.
    Ending,
}

/// Serves a connection to its end. When this is over, no child of it is left.
pub(super) async fn attend(stream: Stream, host: Host, mut phase: watch::Receiver<Phase>) {
    let stream = Arc::new(stream);
    let (mut session, outgoing) = Session::open(&host);
    let sending = Arc::clone(&stream);
    let mut writer = tokio::spawn(async move { write(outgoing, &*sending).await });
    let mut reader = FrameReader::new(&*stream, Session::frame_limit());
    let end = heard(&mut session, &mut reader, &mut writer, &mut phase).await;
    if let Some(goodbye) = &end {
        tracing::info!(code = %goodbye.code, message = goodbye.message, "a connection ends");
    }
    session.close(end).await;
    if !writer.is_finished() && timeout(LAST_WORDS_WITHIN, &mut writer).await.is_err() {
        writer.abort();
    }
}

type Writer = JoinHandle<Result<(), WriteEnd>>;

/// Why it ends; nothing when the gateway is gone.
async fn heard<R: tokio::io::AsyncRead + Unpin>(
    session: &mut Session,
    reader: &mut FrameReader<R>,
    writer: &mut Writer,
    phase: &mut watch::Receiver<Phase>,
) -> Option<Goodbye> {
    let mut hello = pin!(sleep(HELLO_WITHIN));
    let mut drain = phase.clone();
    loop {
        loop {
            let frame = match reader.decoder.next() {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(error) => return Some(codemode_protocol::Violation::from(error).into()),
            };
            // It waits while the gateway does not read; what ends a connection comes before that.
            tokio::select! {
                biased;
                () = reached(phase, Phase::Ending) => return Some(draining()),
                ended = &mut *writer => return unwritten(ended),
                received = session.receive(frame.text()) => if let Err(goodbye) = received { return Some(goodbye) },
            }
        }
        tokio::select! {
            biased;
            () = reached(phase, Phase::Ending) => return Some(draining()),
            () = async { reached(&mut drain, Phase::Draining).await; session.idle().await } => return Some(draining()),
            ended = &mut *writer => return unwritten(ended),
            goodbye = session.overdue() => return Some(goodbye),
            () = &mut hello, if !session.is_greeted() => {
                let message = format!("no hello within {} s", HELLO_WITHIN.as_secs());
                return Some(Goodbye::new(GoodbyeCode::HelloTimeout, message));
            }
            filled = reader.fill() => match filled {
                Ok(true) => {}
                Ok(false) => return None,
                Err(violation) => return Some(violation.into()),
            },
        }
    }
}

/// Waits until the server is that far. Cancel-safe.
async fn reached(phase: &mut watch::Receiver<Phase>, wanted: Phase) {
    // Without a server there is nobody who would go on.
    let _ = phase.wait_for(|now| *now >= wanted).await;
}

fn draining() -> Goodbye {
    Goodbye::new(GoodbyeCode::Draining, "this end goes")
}

fn unwritten(ended: Result<Result<(), WriteEnd>, tokio::task::JoinError>) -> Option<Goodbye> {
    match ended {
        Ok(Err(end @ WriteEnd::Unread)) => Some(Goodbye::new(GoodbyeCode::Unread, end.to_string())),
        // The other end is gone, or this one is.
        Ok(_) | Err(_) => None,
    }
}
