//! A stream of events as bytes, bounded before anything is read in it.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::stream::{Stream, StreamExt};

use super::sorting::MOST_STRAY_BYTES;

/// Bytes that have come without an answer among them, over all streams of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Budget(Arc<AtomicU64>);

impl Budget {
    /// There was an answer.
    pub(super) fn heard(&self) {
        // What is spent stays spent.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |spent| (spent <= MOST_STRAY_BYTES).then_some(0));
    }

    fn spend(&self, bytes: usize) -> Result<(), TooMuch> {
        let before = self.0.fetch_add(bytes as u64, Ordering::Relaxed);
        if before + bytes as u64 > MOST_STRAY_BYTES { Err(TooMuch::Babble) } else { Ok(()) }
    }

    /// Why nothing more is read, if it is so.
    pub(super) fn cut(&self) -> Option<String> {
        let spent = self.0.load(Ordering::Relaxed);
        (spent > MOST_STRAY_BYTES).then(|| format!("it wrote {} MiB without an answer", spent >> 20))
    }
}

/// Why a stream is not read any further.
#[derive(Debug, thiserror::Error)]
pub(super) enum TooMuch {
    #[error("an event of more than {0} bytes")]
    Event(usize),
    #[error("too much without an answer")]
    Babble,
    #[error(transparent)]
    Broken(Box<dyn Error + Send + Sync>),
}

/// These bytes, as long as no event has more than `most`, and the budget is not spent. The last item is why, if it ends before its end.
pub(super) fn bounded<B: AsRef<[u8]> + Send, E: Error + Send + Sync + 'static>(
    bytes: impl Stream<Item = Result<B, E>> + Send,
    most: usize,
    budget: Budget,
) -> impl Stream<Item = Result<B, TooMuch>> + Send {
    let mut size = EventSize::default();
    let mut is_over = false;
    let checked = bytes.map(move |piece| {
        let piece = piece.map_err(|error| TooMuch::Broken(Box::new(error)))?;
        budget.spend(piece.as_ref().len())?;
        if size.most_with(piece.as_ref()) > most { Err(TooMuch::Event(most)) } else { Ok(piece) }
    });
    checked.take_while(move |piece| std::future::ready(!std::mem::replace(&mut is_over, piece.is_err())))
}

/// How large the event is that goes by. An empty line ends one; a line that begins with a colon belongs to none.
#[derive(Debug, Default)]
struct EventSize {
    kept: usize,
    line: usize,
    is_comment: bool,
    after_return: bool,
}

impl EventSize {
    /// The largest size that an event had while these bytes went by.
    fn most_with(&mut self, piece: &[u8]) -> usize {
        let mut most = 0;
        for &byte in piece {
            let after_return = std::mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => {
                    self.kept = match self.line {
                        0 => 0,
                        _ if self.is_comment => self.kept,
                        line => self.kept + line + 1,
                    };
                    self.line = 0;
                }
                _ => {
                    if self.line == 0 {
                        self.is_comment = byte == b':';
                    }
                    self.line += 1;
                }
            }
            most = most.max(self.kept + self.line);
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_as_large_as_its_lines_however_they_end() {
        for (text, size) in [
            ("data: 45678\n\n", 12),
            ("data: 45678\r\ndata: 45678\r\n\r\n", 24),
            (": comment that is long\n: and more\n\n", 22),
            ("data: 1\n\ndata: 1\n\ndata: 1\n\n", 8),
            ("data: 1\rdata: 1\r\r", 16),
            ("data: no end", 12),
        ] {
            for piece in [1, 2, 3, 100] {
                let mut event = EventSize::default();
                let most = text.as_bytes().chunks(piece).map(|piece| event.most_with(piece)).max();
                assert_eq!(most, Some(size), "{text:?} in pieces of {piece}");
            }
        }
    }

    #[tokio::test]
    async fn a_stream_ends_with_the_reason_and_what_is_spent_stays_spent() {
        let budget = Budget::default();
        let large = |bytes: usize| futures_util::stream::repeat_with(move || Ok::<_, std::io::Error>(vec![b'x'; bytes]));
        let read: Vec<_> = bounded(large(10), 25, budget.clone()).collect().await;
        assert!(read.len() == 3 && matches!(read[2], Err(TooMuch::Event(25))), "{read:?}");
        let comments = large(1 << 20).map(|_| Ok::<_, std::io::Error>([b":\n".as_slice(), &vec![b'\n'; 1 << 20]].concat()));
        let ends = bounded(comments, 25, budget.clone()).fold(None, |_, piece| std::future::ready(Some(piece.map(|_| ())))).await;
        assert!(matches!(ends, Some(Err(TooMuch::Babble))), "{ends:?}");
        budget.heard();
        assert!(budget.cut().is_some_and(|why| why.contains("MiB without an answer")), "{:?}", budget.cut());
    }
}
