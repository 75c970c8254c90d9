//! Texts in frames over a stream of bytes: reading within the bound, and writing what waits.

use std::io;
use std::time::Duration;

use codemode_protocol::frame::{PREFIX_BYTES, encode_into};
use codemode_protocol::{Decoder, FrameLimit, Violation};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use super::Outgoing;

/// How long a peer may take nothing while something waits for it. A gateway that collects garbage or is looked at in a debugger for a moment comes back sooner;
/// one that has stopped holds its runs' reports for nobody.
const TAKES_WITHIN: Duration = Duration::from_secs(60);

/// Small texts that are here together are written together.
const TOGETHER_BYTES: usize = 64 << 10;

/// Reads frames. Take them from `decoder`, then [`FrameReader::fill`].
#[derive(Debug)]
pub(crate) struct FrameReader<R> {
    stream: R,
    pub(crate) decoder: Decoder,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    pub(crate) fn new(stream: R, limit: FrameLimit) -> FrameReader<R> {
        FrameReader { stream, decoder: Decoder::new(limit) }
    }

    /// Waits for bytes. False: there will be none, and the last frame was whole. Cancel-safe: what was read is in the decoder.
    pub(crate) async fn fill(&mut self) -> Result<bool, Violation> {
        // A stream that breaks has ended as far as anybody can tell.
        match self.stream.read(self.decoder.space()).await {
            Ok(0) | Err(_) => {
                self.decoder.finish()?;
                Ok(false)
            }
            Ok(bytes) => {
                self.decoder.filled(bytes);
                Ok(true)
            }
        }
    }
}

/// Why nothing is written any more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteEnd {
    /// The peer takes nothing.
    #[error("nothing was read for {} s while something waited; read what is sent", TAKES_WITHIN.as_secs())]
    Unread,
    /// The stream is broken.
    #[error("the stream broke: {0}")]
    Broken(io::ErrorKind),
}

/// Writes what waits, until nothing can come any more.
pub(crate) async fn write<W: AsyncWrite + Unpin>(mut outgoing: Outgoing, mut stream: W) -> Result<(), WriteEnd> {
    let mut bytes = Vec::new();
    while let Some(departure) = outgoing.next().await {
        // Their places in the queue are kept until they are written.
        let mut together = vec![departure];
        let mut waiting = together[0].text().len();
        while waiting < TOGETHER_BYTES
            && let Some(departure) = outgoing.at_once()
        {
            waiting += departure.text().len();
            together.push(departure);
        }
        bytes.clear();
        bytes.reserve(waiting + together.len() * PREFIX_BYTES);
        for departure in &together {
            // What was too long for a frame was never put into the queue.
            let _ = encode_into(&mut bytes, departure.text(), FrameLimit::LARGEST);
        }
        let mut left = &bytes[..];
        while !left.is_empty() {
            let written = timeout(TAKES_WITHIN, stream.write(left)).await.map_err(|_| WriteEnd::Unread)?;
            match written {
                Ok(0) => return Err(WriteEnd::Broken(io::ErrorKind::WriteZero)),
                Ok(count) => left = &left[count..],
                Err(error) => return Err(WriteEnd::Broken(error.kind())),
            }
        }
        // A large text is not kept for the small ones behind it.
        if bytes.capacity() > 2 * TOGETHER_BYTES {
            bytes = Vec::new();
        }
    }
    Ok(())
}
