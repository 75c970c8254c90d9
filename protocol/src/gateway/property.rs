//! Properties of this wire; `crate::property` has the others.

use super::{ApprovalWord, Exchange, FromGateway, GatewayAsk, HelloAnswer, HookWord, Notice, RequestText, Settled, ToGateway, ToolText};
use crate::frame::{Decoder, FrameLimit};
use crate::json::{JsonText, MAX_DEPTH, depth};
use crate::message::RequestId;
use serde_json::Value;

/// Any bytes of either end: each whole frame is a message or a named violation, and the ids of an end are kept to account.
pub fn gateway_stream(bytes: &[u8]) {
    let mut decoder = Decoder::new(FrameLimit::LARGEST);
    decoder.push(bytes);
    let mut exchange = Exchange::accepting();
    let mut asked = 0_u64;
    let mut answered = 0_u64;
    loop {
        match decoder.next() {
            Ok(Some(frame)) => {
                let text = frame.text();
                gateway_text(text);
                // This end asks before each frame, and gives up every third request.
                let id = exchange.ask().expect("few were asked");
                asked += 1;
                if asked.is_multiple_of(3) {
                    assert!(exchange.abandon(id) && !exchange.abandon(id), "abandoned once");
                }
                match FromGateway::parse(text) {
                    Ok(FromGateway::Request { id, ask }) => {
                        let _ = exchange.hear(id, matches!(ask, GatewayAsk::Hello(_)));
                    }
                    Ok(FromGateway::Answer { id, .. }) => settle(&mut exchange, id, asked, &mut answered),
                    Err(_) => {}
                }
                assert_eq!(exchange.open() as u64 + exchange.owed() as u64 + answered, asked, "every request is open, owed or answered");
            }
            Ok(None) => break,
            Err(error) => {
                assert_eq!(decoder.next(), Err(error), "an error stays");
                break;
            }
        }
    }
}

fn settle(exchange: &mut Exchange, id: RequestId, asked: u64, answered: &mut u64) {
    match exchange.settle(id) {
        Ok(settled) => {
            assert!(id.get() <= asked, "only what was asked is settled");
            assert_eq!(settled == Settled::Late, id.get().is_multiple_of(3));
            assert!(exchange.settle(id).is_err(), "and once");
            *answered += 1;
        }
        Err(violation) => assert!(!violation.to_string().is_empty()),
    }
}

/// Whatever the text, reading it as either end's gives a message or a violation with words; a message is the same after writing and reading it again.
pub fn gateway_text(text: &str) {
    match FromGateway::parse(text) {
        Ok(message) => {
            roundtrip_from_gateway(&message);
            if let FromGateway::Answer { result: Ok(result), .. } = &message {
                results(result);
            }
        }
        Err(violation) => assert!(!violation.place().is_empty() && violation.to_string().len() < 200),
    }
    match ToGateway::parse(text) {
        Ok(message) => {
            roundtrip_to_gateway(&message);
            if let ToGateway::Answer { result: Ok(result), .. } = &message
                && let Ok(answer) = HelloAnswer::read(result)
            {
                let text = JsonText::of(&answer).expect("JSON");
                assert_eq!(HelloAnswer::read(&text).as_ref(), Ok(&answer));
            }
        }
        Err(violation) => assert!(!violation.place().is_empty() && violation.to_string().len() < 200),
    }
}

/// A result, read as each of what it could be.
fn results(result: &JsonText) {
    assert!(result.to_value().is_ok(), "what passes can be built");
    if let Ok(tools) = ToolText::list(result.text(), 50) {
        for tool in &tools {
            let text = JsonText::of(tool).expect("JSON");
            assert_eq!(ToolText::read(text.text()).as_ref(), Ok(tool));
        }
    }
    if let Ok(word) = ApprovalWord::read(result) {
        assert_eq!(ApprovalWord::read(&JsonText::of(&word).expect("JSON")), Ok(word));
    }
    if let Ok(word) = HookWord::read(result) {
        assert_eq!(HookWord::read(&JsonText::of(&word).expect("JSON")), Ok(word));
    }
}

/// What a gateway writes is read as the same.
pub fn roundtrip_from_gateway(message: &FromGateway) {
    let text = serde_json::to_string(message).expect("JSON");
    assert_eq!(FromGateway::parse(&text).as_ref(), Ok(message));
}

/// What codemode writes is read as the same, and a request is the same text whichever way it is written.
pub fn roundtrip_to_gateway(message: &ToGateway) {
    let text = serde_json::to_string(message).expect("JSON");
    assert_eq!(ToGateway::parse(&text).as_ref(), Ok(message));
    if let ToGateway::Request { id, ask } = message {
        let whole = RequestText::new(ask).expect("JSON");
        let most = whole.bytes();
        let written = whole.with_id(*id);
        assert!(written.len() <= most);
        assert_eq!(String::from_utf8(written).as_deref(), Ok(text.as_str()));
    }
    if let ToGateway::Notice(Notice::Finished { report, .. }) = message {
        assert!(depth(text.as_bytes()) <= MAX_DEPTH && serde_json::from_str::<Value>(report.text()).is_ok());
    }
}
