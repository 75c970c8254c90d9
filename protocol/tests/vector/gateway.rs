//! Replays the conversations of `vectors/gateway` between the two ends, in several cuts.

use std::collections::BTreeSet;

use codemode_protocol::gateway::{Ask, Exchange, FromGateway, GatewayAsk, Notice, ToGateway};
use codemode_protocol::{Decoder, FrameLimit, RequestId, RunLimits, Violation, ViolationKind};
use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum End {
    Gateway,
    Codemode,
}

type Conversation = super::Conversation<End>;

/// Bytes a read; the last is more than any vector has.
const CUTS: [usize; 3] = [1, 1000, usize::MAX];

/// One end: what it reads, and what it has asked.
struct Hearer {
    decoder: Decoder,
    exchange: Exchange,
}

impl Hearer {
    fn new(limit: FrameLimit, exchange: Exchange) -> Self {
        Self { decoder: Decoder::new(limit), exchange }
    }
}

/// What codemode hears from the gateway, and the gateway from codemode.
struct Ends {
    codemode: Hearer,
    gateway: Hearer,
}

impl Ends {
    fn new() -> Self {
        Self {
            codemode: Hearer::new(RunLimits::capped().frame_limit(), Exchange::accepting()),
            gateway: Hearer::new(FrameLimit::LARGEST, Exchange::connecting()),
        }
    }

    fn hear(&mut self, from: End) -> Result<(), Violation> {
        let Self { codemode, gateway } = self;
        match from {
            End::Gateway => {
                while let Some(frame) = codemode.decoder.next()? {
                    let text = frame.text();
                    codemode_protocol::property::gateway_text(text);
                    match FromGateway::parse(text)? {
                        FromGateway::Request { id, ask } => {
                            codemode.exchange.hear(id, matches!(ask, GatewayAsk::Hello(_)))?;
                            asked(&mut gateway.exchange, id);
                        }
                        FromGateway::Answer { id, .. } => drop(codemode.exchange.settle(id)?),
                    }
                }
            }
            End::Codemode => {
                while let Some(frame) = gateway.decoder.next()? {
                    let text = frame.text();
                    codemode_protocol::property::gateway_text(text);
                    match ToGateway::parse(text)? {
                        ToGateway::Request { id, ask } => {
                            assert!(!matches!(ask, Ask::Hello(_)), "the gateway connects in these");
                            gateway.exchange.hear(id, false)?;
                            asked(&mut codemode.exchange, id);
                        }
                        ToGateway::Notice(Notice::Cancel { id }) => {
                            assert!(codemode.exchange.abandon(id), "only what is open is cancelled")
                        }
                        ToGateway::Notice(_) => {}
                        ToGateway::Answer { id, .. } => drop(gateway.exchange.settle(id)?),
                    }
                }
            }
        }
        Ok(())
    }

    fn say(&mut self, from: End, bytes: &[u8], cut: usize) -> Result<(), Violation> {
        for read in bytes.chunks(cut.min(bytes.len().max(1))) {
            self.reader(from).decoder.push(read);
            self.hear(from)?;
        }
        Ok(())
    }

    fn reader(&mut self, from: End) -> &mut Hearer {
        match from {
            End::Gateway => &mut self.codemode,
            End::Codemode => &mut self.gateway,
        }
    }
}

/// What one end has asked and the other has taken.
fn asked(exchange: &mut Exchange, id: RequestId) {
    assert_eq!(exchange.ask(), Some(id));
}

/// The first violation and its step.
fn replay(conversation: &Conversation, cut: usize) -> Option<(usize, &'static str)> {
    let mut ends = Ends::new();
    for (index, step) in conversation.steps.iter().enumerate() {
        let result = if step.eof {
            ends.reader(step.from).decoder.finish().map_err(Violation::from)
        } else {
            ends.say(step.from, &step.bytes(), cut)
        };
        if let Err(violation) = result {
            return Some((index, violation.kind().as_str()));
        }
    }
    None
}

#[test]
fn valid_conversations_with_gateways_break_no_rule() {
    let vectors = super::read::<End>("gateway/valid");
    assert!(vectors.len() >= 15, "only {} vectors were read", vectors.len());
    for (name, conversation) in &vectors {
        assert!(conversation.violation.is_none() && !conversation.about.is_empty(), "{name}");
        for cut in CUTS {
            assert_eq!(replay(conversation, cut), None, "{name}, cut into {cut}");
        }
    }
}

#[test]
fn invalid_conversations_with_gateways_break_the_rule_they_name() {
    let vectors = super::read::<End>("gateway/invalid");
    assert!(vectors.len() >= 40, "only {} vectors were read", vectors.len());
    for (name, conversation) in &vectors {
        let expected = conversation.violation.as_ref().unwrap_or_else(|| panic!("{name} names no violation"));
        let by_codemode = conversation.steps[expected.step].from == End::Codemode;
        assert_eq!(by_codemode, name.starts_with("codemode-"), "{name}");
        for cut in CUTS {
            assert_eq!(replay(conversation, cut), Some((expected.step, expected.kind.as_str())), "{name}, cut into {cut}");
        }
    }
}

#[test]
fn the_replay_with_gateways_can_fail() {
    for (name, mut conversation) in super::read::<End>("gateway/invalid") {
        let step = conversation.violation.take().expect("invalid").step;
        conversation.steps.truncate(step);
        assert_eq!(replay(&conversation, usize::MAX), None, "{name} is legal without its last step");
    }
}

#[test]
fn the_vectors_use_every_method_and_most_kinds() {
    let all: Vec<_> = ["gateway/valid", "gateway/invalid"].into_iter().flat_map(super::read::<End>).collect();
    let steps = all.iter().flat_map(|(_, conversation)| &conversation.steps);
    let methods: BTreeSet<String> = steps.filter_map(|step| Some(step.json.as_ref()?["method"].as_str()?.to_owned())).collect();
    for method in [
        "hello",
        "run.start",
        "run.cancel",
        "catalog.search",
        "catalog.describe",
        "catalog.call",
        "approval.request",
        "hook.beforeToolCall",
        "run.log",
        "run.call",
        "run.finished",
        "request.cancel",
        "goodbye",
    ] {
        assert!(methods.contains(method), "{method}");
    }
    let kinds: BTreeSet<&str> = all.iter().filter_map(|(_, conversation)| Some(conversation.violation.as_ref()?.kind.as_str())).collect();
    // Two are of the child's wire alone: here everything goes on until the end.
    let known: BTreeSet<&str> = ViolationKind::ALL.map(ViolationKind::as_str).into();
    assert_eq!(known.difference(&kinds).copied().collect::<Vec<_>>(), ["open_requests", "too_late"]);
}
