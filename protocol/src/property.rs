//! Properties: each written once, used by the property tests, the fuzz targets and the replay of the corpus.
//!
//! A property takes arbitrary input and panics when this crate breaks its word. Input that means nothing is not skipped: it has to be refused.

use serde::de::IgnoredAny;
use serde_json::Value;

use crate::frame::{Decoder, Frame, FrameError, FrameLimit, PREFIX_BYTES, encode, encode_message};
use crate::json::{MAX_DEPTH, depth, outline};
use crate::limits::{Limit, REFUSALS, RunLimits};
use crate::message::{Ask, CallCode, Console, FromChild, Hello, Level, Request, RequestId};
use crate::message::{Returned, Run, RunAnswer, Seed, ToChild, ToChildText, ValueType, WireError};
use crate::session::{ChildSession, Received, ReplyError, SupervisorSession, TurnError};
use crate::{JsonText, ViolationKind as Kind};

pub use crate::gateway::property::{gateway_stream, gateway_text, roundtrip_from_gateway, roundtrip_to_gateway};

/// Small, so that short inputs reach it; a frame limit is the same rule at every size.
const SMALL: u32 = 300;

fn small() -> FrameLimit {
    FrameLimit::new(SMALL).expect("a small limit is a limit")
}

/// Everything a stream gives: its frames, and how it ends.
fn drain(decoder: &mut Decoder, frames: &mut Vec<String>) -> Result<(), FrameError> {
    while let Some(frame) = decoder.next()? {
        frames.push(frame.text().to_owned());
    }
    Ok(())
}

fn decode(bytes: &[u8], cuts: &[u8]) -> (Vec<String>, Result<(), FrameError>) {
    let mut decoder = Decoder::new(small());
    let mut frames = Vec::new();
    let mut rest = bytes;
    let mut cuts = cuts.iter().cycle();
    while !rest.is_empty() {
        let size = cuts.next().map_or(rest.len(), |&cut| usize::from(cut).clamp(1, rest.len()));
        let (now, later) = rest.split_at(size);
        decoder.push(now);
        if let Err(error) = drain(&mut decoder, &mut frames) {
            assert_eq!(decoder.next(), Err(error), "an error stays");
            return (frames, Err(error));
        }
        assert!(decoder.pending() < PREFIX_BYTES + SMALL as usize, "what is kept is less than a frame");
        rest = later;
    }
    let end = decoder.finish();
    (frames, end)
}

/// How a stream is cut into reads changes neither its frames nor its error, and frames that came out go back to the same bytes.
pub fn decode_any_chunking(bytes: &[u8], cuts: &[u8]) {
    let whole = decode(bytes, &[]);
    assert_eq!(decode(bytes, cuts), whole);
    assert_eq!(decode(bytes, &[1]), whole);
    let mut again = Vec::new();
    for text in &whole.0 {
        again.extend(encode(text.as_bytes(), small()).expect("what was a frame is one again"));
    }
    assert!(bytes.starts_with(&again));
}

/// The pass over a text and serde_json agree on what JSON is, and the pass refuses what the wire forbids besides.
pub fn pass_agrees_with_serde(text: &str) {
    let syntax = serde_json::from_str::<IgnoredAny>(text);
    match outline(text) {
        Ok(_) => {
            let deep = depth(text.as_bytes());
            assert!(deep <= MAX_DEPTH);
            match serde_json::from_str::<Value>(text) {
                Ok(value) => assert!(value.is_object() && nesting(&value) == deep),
                // The frame as a whole may be one level too deep for serde_json; its parts never are.
                Err(_) => assert_eq!(deep, MAX_DEPTH),
            }
        }
        Err(violation) => match violation.kind() {
            // serde_json gives up at its own depth before it has seen the rest.
            Kind::BadJson => assert!(syntax.is_err() || depth(text.as_bytes()) >= MAX_DEPTH - 1),
            Kind::TooDeep => assert!(depth(text.as_bytes()) > MAX_DEPTH),
            Kind::LoneSurrogate | Kind::NumberOutOfRange => {
                assert!(serde_json::from_str::<Value>(text).is_err())
            }
            Kind::DuplicateKey | Kind::NotAnObject => {}
            other => panic!("a pass over a text cannot find {other}"),
        },
    }
}

fn nesting(value: &Value) -> u32 {
    match value {
        Value::Array(items) => 1 + items.iter().map(nesting).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(nesting).max().unwrap_or(0),
        _ => 0,
    }
}

/// Whatever the text, reading gives a message or a violation; a message is the same after writing and reading it again.
pub fn text_is_read_or_refused(text: &str) {
    pass_agrees_with_serde(text);
    if let Ok(message) = FromChild::parse(text) {
        roundtrip_from_child(&message);
        let carried = match &message {
            FromChild::Request(Request { ask: Ask::Call { args, .. }, .. }) => Some(args),
            FromChild::Answer { answer: RunAnswer::Returned(returned), .. } => Some(&returned.value),
            _ => None,
        };
        assert!(carried.is_none_or(|text| text.to_value().is_ok()), "what passes can be built");
    }
    if let Ok(message) = ToChild::parse(text) {
        roundtrip_to_child(&message);
    }
}

/// A message of the child survives the wire.
pub fn roundtrip_from_child(message: &FromChild) {
    let text = serde_json::to_string(message).expect("a message has JSON");
    assert_eq!(FromChild::parse(&text).as_ref(), Ok(message));
    assert!(ToChild::parse(&text).is_err() || matches!(message, FromChild::Answer { .. }), "a direction has its own messages");
}

/// A message of the supervisor survives the wire.
pub fn roundtrip_to_child(message: &ToChild) {
    let text = match message {
        ToChild::Run { run, .. } => encode_message(&ToChildText::run(run), 0, FrameLimit::LARGEST),
        ToChild::Reply { id, result: Ok(value) } => encode_message(&ToChildText::value(*id, value), 0, FrameLimit::LARGEST),
        ToChild::Reply { id, result: Err(error) } => encode_message(&ToChildText::error(*id, error), 0, FrameLimit::LARGEST),
    };
    let text = text.expect("a message fits into the largest frame");
    let text = std::str::from_utf8(&text[PREFIX_BYTES..]).expect("JSON is UTF-8");
    let mut expected = message.clone();
    if let ToChild::Run { id, .. } = &mut expected {
        // The writer knows only this id.
        *id = RequestId::FIRST;
    }
    assert_eq!(ToChild::parse(text), Ok(expected));
}

fn limits(requests: u64, in_flight: u64) -> RunLimits {
    let limits = RunLimits::default().with(Limit::Requests, requests).and_then(|limits| limits.with(Limit::InFlight, in_flight));
    limits.expect("inside the bounds")
}

fn run(limits: &RunLimits) -> Run {
    Run { body: "return 1".to_owned(), seed: Seed::new([7; 16]), limits: limits.wire() }
}

/// A child that says anything at all: the session refuses or admits, keeps its count, and after its end admits nothing.
///
/// The bytes go through a decoder as they are. The supervisor has sent its run request when the first byte is even, and answers open requests at once
/// when the second is.
pub fn hostile_child(input: &[u8]) {
    let [sent, answers, stream @ ..] = input else {
        return;
    };
    let limits = limits(4, 2);
    let mut session = SupervisorSession::new(&limits);
    let mut decoder = Decoder::new(session.frame_limit());
    if sent % 2 == 0 {
        session.run(&run(&limits)).expect("the first run request");
        assert_eq!(session.run(&run(&limits)), Err(ReplyError::OutOfTurn));
    }
    decoder.push(stream);
    while let Ok(Some(frame)) = decoder.next() {
        let (before, over) = (session.open(), session.is_over());
        let received = session.receive(frame);
        assert!(!over || received.as_ref().is_err_and(|violation| violation.kind() == Kind::TooLate));
        let request = match &received {
            Ok(Received::Request(request) | Received::OverBudget(request)) => request.id,
            Ok(Received::Answer(_)) => {
                assert_eq!(before, 0, "an answer leaves nothing open");
                continue;
            }
            _ => {
                assert_eq!(session.open(), before);
                continue;
            }
        };
        assert!(session.has_hello() && session.has_run());
        assert_eq!(session.open(), before + 1);
        assert_eq!(matches!(received, Ok(Received::OverBudget(_))), request.get() > limits.requests());
        if answers % 2 == 0 {
            let refusal = WireError::new(CallCode::UnknownTool, "none").about("demo:none");
            session.refuse(request, &refusal).expect("an open request can be refused");
            assert_eq!(session.reply(request, &()), Err(ReplyError::NotOpen), "once each");
        }
    }
}

/// Two honest ends, moved by any sequence of steps: neither ever sees a violation, and when all is delivered both count the same.
pub fn honest_pair(steps: &[u8]) {
    let limits = limits(40, 3);
    let mut pair = Pair {
        supervisor: SupervisorSession::new(&limits),
        child: ChildSession::new(limits.frame_limit()),
        up: Decoder::new(limits.frame_limit()),
        down: Decoder::new(limits.frame_limit()),
        wanted: Vec::new(),
        asked: 0,
    };
    for &step in steps {
        pair.step(step, &limits);
    }
    pair.deliver_up();
    pair.deliver_down();
    assert_eq!(pair.supervisor.open(), pair.child.open());
}

struct Pair {
    supervisor: SupervisorSession,
    child: ChildSession,
    up: Decoder,
    down: Decoder,
    wanted: Vec<(RequestId, bool)>,
    asked: u64,
}

impl Pair {
    fn step(&mut self, step: u8, limits: &RunLimits) {
        match step % 8 {
            0 => self.say(|child| child.hello(&Hello { node: "v24.0.0".to_owned() })),
            1 => {
                if let Ok(frame) = self.supervisor.run(&run(limits)) {
                    self.down.push(&frame);
                }
            }
            2 => self.deliver_up(),
            3 => self.deliver_down(),
            4 => self.say(|child| child.console(&Console { level: Level::Warn, text: "a \u{1} \"z\"".to_owned(), dropped: 3 })),
            5 if self.asked < limits.requests() + REFUSALS => {
                let args = JsonText::parse("{\"__proto__\":{\"x\":[1e3]}}").expect("JSON");
                self.say(|child| child.request(Ask::Call { id: "demo:x".to_owned(), args }).map(|(_, frame)| frame));
            }
            5 => {}
            6 => self.reply(usize::from(step / 8)),
            _ => {
                let returned = Returned { value: JsonText::null(), value_type: ValueType::Undefined };
                self.say(|child| child.answer(RunAnswer::Returned(returned)));
            }
        }
    }

    fn say(&mut self, message: impl FnOnce(&mut ChildSession) -> Result<Vec<u8>, TurnError>) {
        if let Ok(frame) = message(&mut self.child) {
            self.up.push(&frame);
        }
    }

    fn deliver_up(&mut self) {
        while let Some(frame) = self.up.next().expect("honest frames") {
            match self.supervisor.receive(frame).expect("an honest child breaks no rule") {
                Received::Request(request) => self.wanted.push((request.id, true)),
                Received::OverBudget(request) => self.wanted.push((request.id, false)),
                Received::CallLimit => panic!("the pair stops before that"),
                Received::Hello(_) | Received::Console(_) | Received::Answer(_) => {}
            }
            assert!(self.supervisor.open() <= 3, "an honest child keeps to inFlight");
        }
        self.asked = self.asked.max(self.wanted.last().map_or(0, |(id, _)| id.get()));
    }

    fn deliver_down(&mut self) {
        while let Some(frame) = self.down.next().expect("honest frames") {
            self.child.receive(frame).expect("an honest supervisor breaks no rule");
        }
    }

    /// Answers one of the open requests, in any order.
    fn reply(&mut self, pick: usize) {
        if self.wanted.is_empty() {
            return;
        }
        let (id, within) = self.wanted.remove(pick % self.wanted.len());
        let frame = if within {
            self.supervisor.reply(id, &["row"])
        } else {
            self.supervisor.refuse(id, &WireError::new(CallCode::CallLimit, "used up"))
        };
        self.down.push(&frame.expect("an open request can be answered"));
    }
}

/// Any text as the only frame of a child, for inputs that are text and not bytes.
pub fn lone_frame(text: &str) {
    let limits = RunLimits::default();
    let mut session = SupervisorSession::new(&limits);
    let first = session.receive(Frame::from_text(text));
    assert!(matches!(first, Err(_) | Ok(Received::Hello(_))), "nothing but hello may come first");
}

/// [`decode_any_chunking`] with the first three bytes as the sizes of the reads.
pub fn decode_cut_by_its_own_head(bytes: &[u8]) {
    if let Some((cuts, stream)) = bytes.split_first_chunk::<3>() {
        decode_any_chunking(stream, cuts);
    }
}
