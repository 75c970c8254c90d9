//! How a request knows that nobody waits for it any more.

use std::sync::Arc;

use tokio::sync::watch;

/// Something that ends once. Clones are the same thing.
#[derive(Clone, Debug)]
pub(super) struct Ending(Arc<watch::Sender<bool>>);

impl Ending {
    pub(super) fn new() -> Ending {
        Ending(Arc::new(watch::Sender::new(false)))
    }

    /// Ends it.
    pub(super) fn end(&self) {
        self.0.send_replace(true);
    }

    /// Waits for the end. Cancel-safe.
    pub(super) async fn ended(&self) {
        // The sender is held here, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(|over| *over).await;
    }
}

/// From a request to its connection. It travels with the request as an extension.
#[derive(Clone, Debug)]
pub(super) struct Line {
    connection: Ending,
    stream: Ending,
}

impl Line {
    /// A line of this connection.
    pub(super) fn of(connection: &Ending) -> Line {
        Line { connection: connection.clone(), stream: Ending::new() }
    }

    /// Waits until nobody waits for the answer any more.
    pub(super) async fn ended(&self) {
        tokio::select! {
            () = self.connection.ended() => {}
            () = self.stream.ended() => {}
        }
    }

    /// Ends the line when it is dropped: for the stream on which the answer goes out.
    pub(super) fn guard(&self) -> Guard {
        Guard(self.stream.clone())
    }
}

/// Ends a line when it is dropped.
#[derive(Debug)]
pub(super) struct Guard(Ending);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.end();
    }
}
