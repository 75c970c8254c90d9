//! The connection to NATS, and the inboxes of one end behind one subscription.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::{Client, Event, HeaderMap, Message, Subscriber};
use futures_util::StreamExt;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::error::FleetError;
use super::id::Id;
use super::link::{INBOX_BYTES, INBOX_PARCELS};
use super::settings::FleetSettings;
use super::subjects::{End, Name, Subjects};
use super::wire::HEAD;
use crate::run::TraceParent;

/// Bytes that a message must be able to have, besides its head: below that a run is more heads than text.
const LEAST_PAYLOAD: usize = HEAD + 1_024;

/// How long NATS may take to take a message: as long as an end may be silent.
const TAKEN_WITHIN: Duration = Duration::from_secs(1);

/// The header by which the caller's span goes along.
const TRACE_PARENT: &str = "traceparent";

/// NATS did not take a message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Untaken;

type Boxes = Arc<Mutex<HashMap<Id, Slot>>>;

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
    mail: mpsc::Receiver<Mail>,
    held: Arc<AtomicUsize>,
    boxes: Boxes,
}

/// Where the messages of an inbox go in, as many and as long as an honest end sends ahead.
#[derive(Clone, Debug)]
struct Slot {
    mail: mpsc::Sender<Mail>,
    /// Bytes that wait.
    held: Arc<AtomicUsize>,
}

/// One message: its bytes, and the one header that anybody reads. Others can be many times as large in memory as on the wire, and are not kept.
#[derive(Debug)]
pub(super) struct Mail {
    message: Message,
    pub(super) trace_parent: Option<TraceParent>,
}

impl Mail {
    fn of(mut message: Message) -> Mail {
        let headers = message.headers.take();
        let trace_parent = headers.as_ref().and_then(|headers| TraceParent::new(headers.get(TRACE_PARENT)?.as_str()));
        Mail { message, trace_parent }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.message.payload
    }
}

impl Slot {
    /// False: there is no room, or nobody any more.
    fn put(&self, message: Message) -> bool {
        let bytes = message.payload.len();
        // Only the sorter adds.
        if self.held.load(Ordering::Relaxed) + bytes > INBOX_BYTES {
            return false;
        }
        self.held.fetch_add(bytes, Ordering::Relaxed);
        let is_in = self.mail.try_send(Mail::of(message)).is_ok();
        if !is_in {
            self.held.fetch_sub(bytes, Ordering::Relaxed);
        }
        is_in
    }
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
        let held = Arc::<AtomicUsize>::default();
        boxes(&self.boxes).insert(id, Slot { mail: sender, held: Arc::clone(&held) });
        Ok(Mailbox { id, mail, held, boxes: Arc::clone(&self.boxes) })
    }

    /// The subject of an inbox of this end.
    pub(super) fn subject_of(&self, mailbox: &Mailbox) -> String {
        self.subjects.inbox(self.end, &self.name, &mailbox.id)
    }

    pub(super) async fn send(&self, to: &str, message: Vec<u8>) -> Result<(), Untaken> {
        taken(self.client.publish(to.to_owned(), message.into())).await
    }

    pub(super) async fn send_in(&self, trace_parent: &TraceParent, to: &str, message: Vec<u8>) -> Result<(), Untaken> {
        let mut headers = HeaderMap::new();
        headers.insert(TRACE_PARENT, trace_parent.as_str());
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
    pub(super) async fn next(&mut self) -> Option<Mail> {
        let mail = self.mail.recv().await?;
        self.held.fetch_sub(mail.bytes().len(), Ordering::Relaxed);
        Some(mail)
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
        let Some(slot) = id.and_then(|id| boxes(&all).get(&id).cloned()) else { continue };
        // Full: the run finds the gap.
        slot.put(message);
    }
    boxes(&all).clear();
}

fn boxes(boxes: &Boxes) -> MutexGuard<'_, HashMap<Id, Slot>> {
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

    #[test]
    fn an_inbox_holds_no_more_than_an_honest_end_sends_ahead() {
        let (mail, mut taken) = mpsc::channel(INBOX_PARCELS);
        let slot = Slot { mail, held: Arc::default() };
        let message = |bytes: usize| {
            let mut headers = HeaderMap::new();
            (0..100).for_each(|n| headers.insert(format!("h{n}"), "v"));
            Message {
                subject: "a".into(),
                reply: None,
                payload: vec![0; bytes].into(),
                headers: Some(headers),
                status: None,
                description: None,
                length: bytes,
            }
        };
        let large = (0..).take_while(|_| slot.put(message(256 << 10))).count();
        assert_eq!(large, 8, "2 MiB");
        assert!(taken.try_recv().is_ok_and(|mail| mail.message.headers.is_none()));
        while taken.try_recv().is_ok() {}
        slot.held.store(0, Ordering::Relaxed);
        let small = (0..).take_while(|_| slot.put(message(1))).count();
        assert_eq!((small, slot.held.load(Ordering::Relaxed)), (INBOX_PARCELS, INBOX_PARCELS));
    }
}
