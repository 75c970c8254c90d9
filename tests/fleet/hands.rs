//! One end of a run by hand: a worker or a gateway that says whatever a test has it say, over the wire of supervisor/docs/fleet.md and not the code behind it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_nats::{Client, Subscriber};
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::SOON;
use super::workers::raw;

/// Bytes of a piece: a message of a server that has the defaults holds them.
const PIECE: usize = 200 << 10;

/// An id of a test's own. Nothing here has to be hard to guess.
fn id() -> [u8; 16] {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    (u128::from(std::process::id()) << 64 | u128::from(NEXT.fetch_add(1, Ordering::Relaxed))).to_be_bytes()
}

fn hex(id: [u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(id))
}

async fn next(mail: &mut Subscriber) -> Vec<u8> {
    let message = tokio::time::timeout(SOON, mail.next()).await.expect("something comes").expect("NATS is there");
    message.payload.to_vec()
}

/// A worker that takes offers as any other.
pub struct HandWorker {
    client: Client,
    offers: Subscriber,
}

/// A gateway that offers.
pub struct HandGateway {
    pub client: Client,
}

/// One end of one run.
pub struct Hand {
    pub client: Client,
    /// The other end's inbox.
    pub to: String,
    end: u8,
    token: [u8; 16],
    sent: u64,
    heard: u64,
    mail: Subscriber,
    asked: u64,
}

impl HandWorker {
    pub async fn joined(url: &str) -> HandWorker {
        let client = raw(url).await;
        let offers = client.queue_subscribe("codemode.runs", "workers".to_owned()).await.expect("it may");
        client.flush().await.expect("NATS is there");
        HandWorker { client, offers }
    }

    /// Claims the next offer, as often as it is told, and waits for the run.
    pub async fn claims(&mut self, times: usize) -> Hand {
        let offer = tokio::time::timeout(SOON, self.offers.next()).await.expect("an offer").expect("NATS is there");
        let inbox = id();
        let own = format!("codemode.runs.w.liar.{}", hex(inbox));
        let mut mail = self.client.subscribe(own).await.expect("it may");
        self.client.flush().await.expect("NATS is there");
        let claim = [&[1, b'c'][..], &offer.payload[2..18], &inbox, b"liar"].concat();
        for _ in 0..times {
            self.client.publish(offer.reply.clone().expect("it wants a claim"), claim.clone().into()).await.expect("NATS is there");
        }
        let open = next(&mut mail).await;
        assert_eq!(open[..3], [1, b'o', b'g'], "{open:?}");
        let token = open[3..19].try_into().expect("16 bytes");
        let to = String::from_utf8(open[35..].to_vec()).expect("a subject");
        Hand { client: self.client.clone(), to, end: b'w', token, sent: 0, heard: 1, mail, asked: 0 }
    }

    /// Whether there is another offer within a moment.
    pub async fn is_offered(&mut self) -> bool {
        tokio::time::timeout(Duration::from_millis(300), self.offers.next()).await.is_ok()
    }
}

impl HandGateway {
    pub async fn of(url: &str) -> HandGateway {
        HandGateway { client: raw(url).await }
    }

    /// Offers a run until it is claimed. Gives the inbox at which the worker waits.
    pub async fn is_claimed(&self) -> String {
        let own = format!("codemode.runs.g.rogue.{}", hex(id()));
        let mut mail = self.client.subscribe(own.clone()).await.expect("it may");
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < SOON, "nobody claims it");
            let offer = [&[1, b'o'][..], &id()].concat();
            self.client.publish_with_reply("codemode.runs", own.clone(), offer.into()).await.expect("NATS is there");
            // Without a worker that listens, the server says so with an empty message.
            if let Ok(Some(claim)) = tokio::time::timeout(Duration::from_millis(50), mail.next()).await
                && claim.payload.len() > 34
            {
                let inbox = claim.payload[18..34].try_into().expect("16 bytes");
                return format!("codemode.runs.w.{}.{}", String::from_utf8_lossy(&claim.payload[34..]), hex(inbox));
            }
        }
    }

    /// Offers a run, and opens it at whoever claims it.
    pub async fn opens(&self) -> Hand {
        let to = self.is_claimed().await;
        let own = format!("codemode.runs.g.rogue.{}", hex(id()));
        let mail = self.client.subscribe(own.clone()).await.expect("it may");
        self.client.flush().await.expect("NATS is there");
        let mut hand = Hand { client: self.client.clone(), to, end: b'g', token: id(), sent: 0, heard: 0, mail, asked: 0 };
        hand.sends(b'o', own.as_bytes()).await;
        hand
    }
}

impl Hand {
    /// A parcel with this number, whatever the last one was.
    pub fn parcel(&self, kind: u8, number: u64, heard: u64, bytes: &[u8]) -> Vec<u8> {
        [&[1, kind, self.end][..], &self.token, &number.to_be_bytes(), &heard.to_be_bytes(), bytes].concat()
    }

    pub async fn publishes(&self, message: Vec<u8>) {
        self.client.publish(self.to.clone(), message.into()).await.expect("NATS is there");
    }

    /// The next parcel.
    pub async fn sends(&mut self, kind: u8, bytes: &[u8]) {
        self.sent += 1;
        self.publishes(self.parcel(kind, self.sent, self.heard, bytes)).await;
    }

    pub async fn beats(&mut self) {
        self.sends(b'b', b"").await;
    }

    /// Says that it is there for so long, and does nothing else.
    pub async fn beats_for(&mut self, long: Duration) {
        let began = Instant::now();
        while began.elapsed() < long {
            self.beats().await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    pub async fn says(&mut self, text: &Value) {
        let text = text.to_string().into_bytes();
        let last = text.len().div_ceil(PIECE) - 1;
        for (at, piece) in text.chunks(PIECE).enumerate() {
            self.sends(if at == last { b't' } else { b'p' }, piece).await;
        }
    }

    /// Asks under the next id.
    pub async fn asks(&mut self, method: &str, params: Value) {
        self.asked += 1;
        let id = self.asked;
        self.says(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
    }

    pub async fn tells(&mut self, method: &str, params: Value) {
        self.says(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    pub async fn answers(&mut self, id: u64, result: Value) {
        self.says(&json!({"jsonrpc": "2.0", "id": id, "result": result})).await;
    }

    /// The next text of the other end.
    pub async fn hears(&mut self) -> Value {
        let mut text = Vec::new();
        loop {
            let parcel = next(&mut self.mail).await;
            self.heard = u64::from_be_bytes(parcel[19..27].try_into().expect("eight bytes"));
            text.extend_from_slice(&parcel[35..]);
            if parcel[1] == b't' {
                return serde_json::from_slice(&text).expect("JSON");
            }
        }
    }

    /// A worker's answer to `hello`, and the name of the run that it has not answered yet.
    pub async fn greets(&mut self) -> String {
        assert_eq!(self.hears().await["method"], "hello");
        let start = self.hears().await;
        self.answers(1, json!({"protocol": 1, "name": "liar", "capabilities": ["runs"], "frameBytes": 16_842_752, "runs": 1})).await;
        start["params"]["run"].as_str().expect("a name").to_owned()
    }

    /// The same, and takes the run.
    pub async fn takes(&mut self) -> String {
        let run = self.greets().await;
        self.answers(2, json!({})).await;
        run
    }

    /// A gateway's first words: this body.
    pub async fn starts(&mut self, body: &str) {
        self.asks("hello", json!({"protocol": 1, "name": "rogue", "capabilities": ["catalog"]})).await;
        self.asks("run.start", json!({"run": "r", "body": body, "catalog": "gateway"})).await;
    }
}
