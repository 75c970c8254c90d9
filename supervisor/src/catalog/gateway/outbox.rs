//! What waits to be sent: bounded in bytes, first come first served.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Bytes that wait to be sent before whoever sends more has to wait too. A larger text waits until it is alone. A burst of small messages fits many times over;
/// what a gateway that does not read can make us hold is this, a text, and what its runs hold anyway.
const QUEUE_BYTES: usize = 4 << 20;

/// The connection is over.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the connection is over")]
pub struct Gone;

/// A text on its way out. Its place in the queue is free again when it is dropped, so keep it until it is written.
#[derive(Debug)]
pub struct Departure {
    text: Vec<u8>,
    _place: Option<OwnedSemaphorePermit>,
}

impl Departure {
    /// The text: one JSON object, not yet in a frame.
    pub fn text(&self) -> &[u8] {
        &self.text
    }
}

/// The end from which texts are sent on.
#[derive(Debug)]
pub struct Outgoing(mpsc::UnboundedReceiver<Departure>);

impl Outgoing {
    /// The next text; `None` when the connection is over and nothing is left. Cancel-safe.
    pub async fn next(&mut self) -> Option<Departure> {
        self.0.recv().await
    }

    /// The next text if one is there.
    pub fn at_once(&mut self) -> Option<Departure> {
        self.0.try_recv().ok()
    }
}

/// A place in the queue.
#[derive(Debug)]
pub(super) struct Place(OwnedSemaphorePermit);

#[derive(Debug)]
pub(super) struct Outbox {
    /// Gone with the last words: nothing comes behind them.
    queue: Mutex<Option<mpsc::UnboundedSender<Departure>>>,
    room: Arc<Semaphore>,
}

impl Outbox {
    pub(super) fn new() -> (Outbox, Outgoing) {
        let (queue, outgoing) = mpsc::unbounded_channel();
        (Outbox { queue: Mutex::new(Some(queue)), room: Arc::new(Semaphore::new(QUEUE_BYTES)) }, Outgoing(outgoing))
    }

    /// Waits for room for so many bytes.
    pub(super) async fn place(&self, bytes: usize) -> Result<Place, Gone> {
        // At most QUEUE_BYTES, which is far below 2^32.
        let bytes = bytes.clamp(1, QUEUE_BYTES) as u32;
        Arc::clone(&self.room).acquire_many_owned(bytes).await.map(Place).map_err(|_| Gone)
    }

    /// Whether nobody waits for room; nobody does any more when the connection is over.
    pub(super) fn has_room(&self) -> bool {
        // Who waits has taken what there was.
        self.room.is_closed() || self.room.available_permits() > 0
    }

    pub(super) fn put(&self, text: Vec<u8>, place: Place) -> Result<(), Gone> {
        self.send(Departure { text, _place: Some(place.0) })
    }

    /// For the few small texts that cannot wait; their number is bounded by who puts them.
    pub(super) fn put_at_once(&self, text: Vec<u8>) {
        // Nobody sends it any more: nobody reads it either.
        let _ = self.send(Departure { text, _place: None });
    }

    /// Nobody gets room any more, and nothing is taken behind `last_words`.
    pub(super) fn close(&self, last_words: Option<Vec<u8>>) {
        self.room.close();
        let queue = self.queue().take();
        if let (Some(queue), Some(text)) = (queue, last_words) {
            let _ = queue.send(Departure { text, _place: None });
        }
    }

    fn send(&self, departure: Departure) -> Result<(), Gone> {
        self.queue().as_ref().ok_or(Gone)?.send(departure).map_err(|_| Gone)
    }

    fn queue(&self) -> MutexGuard<'_, Option<mpsc::UnboundedSender<Departure>>> {
        // A sender is whole whatever happened to who held it.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
