//! The edges of numbers and sizes that vectors cannot show well.

#![allow(clippy::unwrap_used)]

use codemode_protocol::frame::{encode, encode_into};
use codemode_protocol::limits::{ENVELOPE_BYTES, REFUSALS};
use codemode_protocol::{
    CallCode, Decoder, Frame, FrameError, FrameLimit, JsonText, Limit, MAX_DEPTH, Received, ReplyError, RequestId, Run, RunLimits, Seed,
    SupervisorSession, ViolationKind, WireError,
};

const HELLO: &str = r#"{"jsonrpc":"2.0","method":"hello","params":{"protocol":1,"node":"v24.22.3"}}"#;

fn running(limits: &RunLimits) -> SupervisorSession {
    let mut session = SupervisorSession::new(limits);
    session.run(&Run { body: "return 1".to_owned(), seed: Seed::new([0; 16]), limits: limits.wire() }).unwrap();
    session.receive(Frame::from_text(HELLO)).unwrap();
    session
}

fn describe(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"openclaw.tools.describe","params":{{"id":"x"}}}}"#)
}

#[test]
fn a_frame_limit_is_neither_zero_nor_huge() {
    assert_eq!(FrameLimit::new(0), None);
    assert_eq!(FrameLimit::new(FrameLimit::MAX + 1), None);
    assert_eq!(FrameLimit::new(FrameLimit::MAX), Some(FrameLimit::LARGEST));
}

#[test]
fn a_claimed_length_reserves_nothing() {
    let mut decoder = Decoder::new(FrameLimit::LARGEST);
    decoder.push(&FrameLimit::MAX.to_be_bytes());
    assert_eq!(decoder.next(), Ok(None));
    assert!(decoder.space().len() < 64 * 1024, "four bytes have come, so little room is made");
}

#[test]
fn room_grows_with_what_has_come_and_ends_with_the_limit() {
    let limit = FrameLimit::new(1024 * 1024).unwrap();
    let mut decoder = Decoder::new(limit);
    decoder.push(&(1024 * 1024_u32).to_be_bytes());
    let mut come = 4;
    while come < limit.bytes() + 4 {
        let room = decoder.space().len();
        assert!(room <= (2 * come).max(32 * 1024) && room > 0);
        let read = room.min(limit.bytes() + 4 - come).min(1000);
        decoder.filled(read);
        come += read;
        assert_eq!(decoder.next().map(|frame| frame.is_some()), Ok(come == limit.bytes() + 4));
    }
    assert_eq!(decoder.finish(), Ok(()));
}

#[test]
fn a_frame_at_the_limit_passes_and_one_above_does_not() {
    let limit = FrameLimit::new(8).unwrap();
    assert_eq!(encode(b"12345678", limit).unwrap().len(), 12);
    assert_eq!(encode(b"123456789", limit), Err(FrameError::TooLong { length: 9, limit: 8 }));
    let mut out = b"kept".to_vec();
    assert_eq!(encode_into(&mut out, b"", limit), Err(FrameError::Empty));
    assert_eq!(out, b"kept");
}

#[test]
fn end_of_file_tells_how_much_was_missing() {
    let mut decoder = Decoder::new(FrameLimit::new(100).unwrap());
    decoder.push(&[0, 0]);
    assert_eq!(decoder.finish(), Err(FrameError::Truncated { have: 2, want: 4 }));
    decoder.push(&[0, 9, b'{']);
    assert_eq!(decoder.next(), Ok(None));
    assert_eq!(decoder.finish(), Err(FrameError::Truncated { have: 5, want: 13 }));
}

#[test]
fn every_default_is_inside_its_bounds_and_every_cap_holds() {
    for limit in Limit::ALL {
        assert!(limit.least() <= limit.default_value() && limit.default_value() <= limit.cap(), "{}", limit.name());
        let limits = RunLimits::default();
        assert_eq!(limits.get(limit), limit.default_value());
        assert_eq!(limits.with(limit, limit.cap()).unwrap().get(limit), limit.cap());
        let error = limits.with(limit, limit.cap() + 1).unwrap_err();
        assert!(error.to_string().starts_with(limit.name()), "{error}");
        if let Some(below) = limit.least().checked_sub(1) {
            assert!(limits.with(limit, below).is_err());
        }
    }
}

#[test]
fn the_frame_limit_covers_the_largest_thing_at_every_setting() {
    let defaults = RunLimits::default();
    assert_eq!(defaults.frame_limit().bytes(), 4 * 1024 * 1024 + 64 * 1024);
    let caps = Limit::ALL.iter().fold(defaults, |limits, &limit| limits.with(limit, limit.cap()).unwrap());
    assert_eq!(caps.frame_limit().bytes(), 16 * 1024 * 1024 + 64 * 1024);
    let least = Limit::ALL.iter().fold(defaults, |limits, &limit| limits.with(limit, limit.least()).unwrap());
    assert!(least.frame_limit().bytes() as u64 > ENVELOPE_BYTES);
}

#[test]
fn a_body_of_control_characters_at_its_limit_fits() {
    let defaults = RunLimits::default();
    let limits = [Limit::ArgsBytes, Limit::ResultBytes, Limit::ValueBytes]
        .iter()
        .fold(defaults, |limits, &limit| limits.with(limit, limit.least()).unwrap());
    let body = "\u{1}".repeat(limits.body_bytes() as usize);
    let frame = SupervisorSession::new(&limits).run(&Run { body, seed: Seed::new([0; 16]), limits: limits.wire() });
    assert!(frame.is_ok_and(|frame| frame.len() > 6 * 256 * 1024));
}

#[test]
fn requests_above_the_budget_are_marked_and_then_end_the_run() {
    let limits = RunLimits::default().with(Limit::Requests, 2).unwrap();
    let mut session = running(&limits);
    for count in 1..=2 + REFUSALS {
        let received = session.receive(Frame::from_text(&describe(count))).unwrap();
        let id = RequestId::new(count).unwrap();
        match received {
            Received::Request(request) => assert!(request.id == id && count <= 2),
            Received::OverBudget(request) => assert!(request.id == id && count > 2),
            other => panic!("{other:?}"),
        }
        session.refuse(id, &WireError::new(CallCode::CallLimit, "used up")).unwrap();
    }
    assert_eq!(session.receive(Frame::from_text(&describe(3 + REFUSALS))), Ok(Received::CallLimit));
    assert!(session.is_over());
    let late = session.receive(Frame::from_text(&describe(4 + REFUSALS)));
    assert_eq!(late.unwrap_err().kind(), ViolationKind::TooLate);
}

#[test]
fn a_value_that_does_not_fit_leaves_its_request_open() {
    let small = [Limit::ArgsBytes, Limit::ResultBytes, Limit::ValueBytes, Limit::BodyBytes, Limit::ConsoleEntryBytes];
    let limits = small.iter().fold(RunLimits::default(), |limits, &limit| limits.with(limit, limit.least()).unwrap());
    let mut session = running(&limits);
    session.receive(Frame::from_text(&describe(1))).unwrap();
    let id = RequestId::FIRST;
    assert!(matches!(session.reply(id, &"x".repeat(70_000)), Err(ReplyError::TooLong { .. })));
    let deep = |levels: usize| JsonText::parse(&("[".repeat(levels) + &"]".repeat(levels))).unwrap();
    assert_eq!(session.reply(id, &deep(MAX_DEPTH as usize)), Err(ReplyError::TooDeep));
    assert_eq!(session.open(), 1);
    session.reply(id, &deep(MAX_DEPTH as usize - 1)).unwrap();
    assert_eq!(session.open(), 0);
    assert_eq!(session.refuse(id, &WireError::new(CallCode::Cancelled, "late")), Err(ReplyError::NotOpen));
}

#[test]
fn more_open_requests_than_allowed_only_hold_the_child_up() {
    let limits = RunLimits::default().with(Limit::InFlight, 1).unwrap();
    let mut session = running(&limits);
    assert!(!session.is_full());
    session.receive(Frame::from_text(&describe(1))).unwrap();
    assert!(session.is_full());
    assert!(session.receive(Frame::from_text(&describe(2))).is_ok());
    assert_eq!(session.open(), 2);
}

#[test]
fn a_violation_never_repeats_text_of_the_peer() {
    let secret = "S3CRET";
    let texts = [
        format!(r#"{{"jsonrpc":"{secret}","method":"hello","params":{{}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","method":"{secret}","params":{{}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","method":"hello","params":{{"{secret}":1}}}}"#),
        format!(r#"{{"{secret}":1,"{secret}":2}}"#),
        secret.to_owned(),
    ];
    for text in texts {
        let violation = SupervisorSession::new(&RunLimits::default()).receive(Frame::from_text(&text)).unwrap_err();
        assert!(!format!("{violation} {violation:?}").contains(secret), "{violation:?}");
    }
}

#[test]
fn an_object_with_a_hundred_thousand_keys_is_no_trouble() {
    let mut members: Vec<String> = (0..100_000).map(|index| format!(r#""key{index}":0"#)).collect();
    let text = |members: &[String]| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"openclaw.tools.call","params":{{"id":"x","args":{{{}}}}}}}"#, members.join(","))
    };
    assert!(running(&RunLimits::default()).receive(Frame::from_text(&text(&members))).is_ok());
    members.push(r#""key500":0"#.to_owned());
    let violation = running(&RunLimits::default()).receive(Frame::from_text(&text(&members))).unwrap_err();
    assert_eq!(violation.kind(), ViolationKind::DuplicateKey);
}
