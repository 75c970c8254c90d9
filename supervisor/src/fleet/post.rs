//! The connection to NATS, and the inboxes of one end behind one subscription.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::{Client, Event, HeaderMap, Message, Subscriber};
use futures_util::StreamExt;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::error::FleetError;
use super::id::Id;
use super::link::INBOX_PARCELS;
use super::settings::FleetSettings;
use super::subjects::{End, Name, Subjects};
use super::wire::HEAD;

/// Bytes that a message must be able to have, besides its head: below that a run is more heads than text.
const LEAST_PAYLOAD: usize = HEAD + 1_024;

/// How long NATS may take to take a message: as long as an end may be silent.
const TAKEN_WITHIN: Duration = Duration::from_secs(1);

/// NATS did not take a message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Untaken;

type Boxes = Arc<Mutex<HashMap<Id, mpsc::Sender<Message>>>>;

/// One end's connection. One subscription brings the messages of all its inboxes, and one task sorts them: a full inbox loses its message, whose run then finds the gap, and no
/// run waits for another one.
#[derive(Debug)]
pub(super) struct Post {
    client: Client,
    subjects: Subjects,
    name: Name,
    end: End,
    boxes: Boxes,
    /// The first thing that the server does not let this end hear. Whatever it says later takes nothing of that back.
    refusal: watch::Receiver<Option<String>>,
    sorter: JoinHandle<()>,
}

/// An inbox, as long as it lives.
#[derive(Debug)]
pub(super) struct Mailbox {
    id: Id,
    mail: mpsc::Receiver<Message>,
    boxes: Boxes,
}

impl Post {
    pub(super) async fn open(settings: &FleetSettings, end: End) -> Result<Post, FleetError> {
        let (subjects, name) = (settings.subjects()?, settings.name()?);
        let (refusal, refused) = watch::channel(None);
        let options = settings.options(end, &name).await?.event_callback(move |event| {
            if let Event::ServerError(error) = event {
                refusal.send_if_modified(|first| note_refusal(first, error.to_string()));
            }
            std::future::ready(())
        });
        let addresses: Vec<&str> = settings.url.split(',').map(str::trim).collect();
        let unreachable = |error: async_nats::ConnectError| FleetError::Connect { reason: error.to_string() };
        let client = options.connect(addresses).await.map_err(unreachable)?;
        let max_payload = client.max_payload();
        if max_payload < LEAST_PAYLOAD {
            return Err(FleetError::SmallPayload { max_payload, least: LEAST_PAYLOAD });
        }
        let incoming = client.subscribe(subjects.inboxes(end, &name)).await.map_err(|_| FleetError::Closed)?;
        let boxes = Boxes::default();
        let sorter = tokio::spawn(sort(incoming, Arc::clone(&boxes)));
        Ok(Post { client, subjects, name, end, boxes, refusal: refused, sorter })
    }

    pub(super) fn subjects(&self) -> &Subjects {
        &self.subjects
    }

    pub(super) fn name(&self) -> &Name {
        &self.name
    }

    /// Bytes of a message at most, as this server has said when it was reached last.
    pub(super) fn max_payload(&self) -> usize {
        self.client.max_payload()
    }

    /// A new inbox of this end.
    pub(super) fn mailbox(&self) -> Result<Mailbox, getrandom::Error> {
        let id = Id::random()?;
        let (sender, mail) = mpsc::channel(INBOX_PARCELS);
        boxes(&self.boxes).insert(id, sender);
        Ok(Mailbox { id, mail, boxes: Arc::clone(&self.boxes) })
    }

    /// The subject of an inbox of this end.
    pub(super) fn subject_of(&self, mailbox: &Mailbox) -> String {
        self.subjects.inbox(self.end, &self.name, &mailbox.id)
    }

    pub(super) async fn send(&self, to: &str, message: Vec<u8>) -> Result<(), Untaken> {
        taken(self.client.publish(to.to_owned(), message.into())).await
    }

    pub(super) async fn send_with_header(&self, to: &str, header: (&str, &str), message: Vec<u8>) -> Result<(), Untaken> {
        let mut headers = HeaderMap::new();
        headers.insert(header.0, header.1);
        taken(self.client.publish_with_headers(to.to_owned(), headers, message.into())).await
    }

    /// The answer goes to the inbox `back`.
    pub(super) async fn ask(&self, to: String, back: String, message: Vec<u8>) -> Result<(), Untaken> {
        taken(self.client.publish_with_reply(to, back, message.into())).await
    }

    pub(super) async fn subscribe(&self, subject: String, group: Option<&str>) -> Result<Subscriber, FleetError> {
        let subscribed = match group {
            Some(group) => self.client.queue_subscribe(subject, group.to_owned()).await,
            None => self.client.subscribe(subject).await,
        };
        subscribed.map_err(|_| FleetError::Closed)
    }

    /// Waits until everything that was sent is on its way.
    pub(super) async fn flush(&self) {
        // Without a connection nothing goes any more, and whoever waits for it finds out.
        let _ = timeout(TAKEN_WITHIN, self.client.flush()).await;
    }

    /// Waits until the server does not let this end hear something. Cancel-safe.
    pub(super) async fn refused(&self) -> FleetError {
        let mut refusal = self.refusal.clone();
        match refusal.wait_for(Option::is_some).await {
            Ok(told) => FleetError::NotPermitted { reason: told.clone().unwrap_or_default() },
            Err(_) => FleetError::Closed,
        }
    }
}

/// Keeps the first refusal to listen; other errors are not the end of anything.
fn note_refusal(first: &mut Option<String>, error: String) -> bool {
    let is_news = first.is_none() && error.to_ascii_lowercase().contains("for subscription");
    if is_news {
        *first = Some(error);
    }
    is_news
}

impl Drop for Post {
    fn drop(&mut self) {
        self.sorter.abort();
    }
}

impl Mailbox {
    /// The name of it that its subject ends with.
    pub(super) fn id(&self) -> Id {
        self.id
    }

    /// The next message. `None`: the connection is over. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Message> {
        self.mail.recv().await
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        boxes(&self.boxes).remove(&self.id);
    }
}

/// Until the subscription is over; then every inbox is.
async fn sort(mut incoming: Subscriber, all: Boxes) {
    while let Some(message) = incoming.next().await {
        let id = message.subject.as_str().rsplit('.').next().and_then(Id::from_hex);
        // What is for nobody, or for somebody who has gone, is for nobody.
        let Some(sender) = id.and_then(|id| boxes(&all).get(&id).cloned()) else { continue };
        // Full: the run finds the gap.
        let _ = sender.try_send(message);
    }
    boxes(&all).clear();
}

fn boxes(boxes: &Boxes) -> MutexGuard<'_, HashMap<Id, mpsc::Sender<Message>>> {
    boxes.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn taken<E>(sending: impl Future<Output = Result<(), E>>) -> Result<(), Untaken> {
    match timeout(TAKEN_WITHIN, sending).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(Untaken),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_to_listen_is_not_covered_by_what_comes_after_it() {
        let mut first = None;
        assert!(!note_refusal(&mut first, "Permissions Violation for Publish to \"a\"".to_owned()), "that is the end of nothing");
        assert!(note_refusal(&mut first, "Permissions Violation for Subscription to \"b\"".to_owned()));
        assert!(!note_refusal(&mut first, "Permissions Violation for Subscription to \"c\"".to_owned()));
        assert!(!note_refusal(&mut first, "Permissions Violation for Publish to \"d\"".to_owned()));
        assert!(first.is_some_and(|first| first.contains("\"b\"")));
    }
}
