//! Replays every conversation of `vectors/` between the two sessions, in several cuts.
//!
//! Each end hears what the other one says in the file. What it understands it says to its own session as well, and the frame that this gives has to mean the
//! same as the one in the file: so the vectors hold writing to account too.

use std::collections::BTreeSet;

use codemode_protocol::message::RunAnswer;
use codemode_protocol::{
    Ask, ChildSession, Decoder, JsonText, Received, Request, RunLimits, SupervisorSession, ToChild, Violation, ViolationKind,
};
use serde_json::Value;

mod vector;

use serde::Deserialize;

type Conversation = vector::Conversation<End>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum End {
    Child,
    Supervisor,
}

/// Bytes a read; the last is more than any vector has.
const CUTS: [usize; 4] = [1, 3, 1000, usize::MAX];

struct Ends {
    limits: RunLimits,
    supervisor: SupervisorSession,
    child: ChildSession,
    up: Decoder,
    down: Decoder,
}

impl Ends {
    fn new(conversation: &Conversation) -> Self {
        let limits = conversation.limits();
        let frame_limit = conversation.frame_limit();
        Self {
            limits,
            supervisor: SupervisorSession::new(&limits),
            child: ChildSession::new(limits.frame_limit()),
            up: Decoder::new(frame_limit),
            down: Decoder::new(frame_limit),
        }
    }

    /// Reads all frames that have come from one end.
    fn hear(&mut self, from: End) -> Result<(), Violation> {
        match from {
            End::Child => {
                while let Some(frame) = self.up.next()? {
                    let heard = self.supervisor.receive(frame)?;
                    if let Some(written) = said_by_child(&mut self.child, heard) {
                        assert_eq!(meaning(&written[4..]), meaning(frame.text().as_bytes()));
                    }
                }
            }
            End::Supervisor => {
                while let Some(frame) = self.down.next()? {
                    let heard = self.child.receive(frame)?;
                    if let Some(written) = said_by_supervisor(&mut self.supervisor, &self.limits, &heard) {
                        assert_eq!(meaning(&written[4..]), meaning(frame.text().as_bytes()));
                    }
                }
            }
        }
        Ok(())
    }

    fn say(&mut self, from: End, bytes: &[u8], cut: usize) -> Result<(), Violation> {
        for read in bytes.chunks(cut.min(bytes.len().max(1))) {
            match from {
                End::Child => self.up.push(read),
                End::Supervisor => self.down.push(read),
            }
            self.hear(from)?;
        }
        Ok(())
    }

    fn end(&self, from: End) -> Result<(), Violation> {
        match from {
            End::Child => self.up.finish()?,
            End::Supervisor => self.down.finish()?,
        }
        Ok(())
    }
}

/// The value; or the text, for a frame that is one level too deep for serde_json as a whole, though not for its parts.
fn meaning(text: &[u8]) -> Result<Value, &[u8]> {
    serde_json::from_slice(text).map_err(|_| text)
}

/// The child's own session writes what the supervisor has understood; `None` where an honest child would not have said it, such as a call too many.
fn said_by_child(child: &mut ChildSession, heard: Received) -> Option<Vec<u8>> {
    let frame = match heard {
        Received::Hello(hello) => child.hello(&hello),
        Received::Console(console) => {
            let spoken = child.console(&console).expect("a run is open");
            return Some(spoken).filter(|_| console.dropped > 0);
        }
        Received::Request(Request { id, ask }) | Received::OverBudget(Request { id, ask }) => {
            if let Ask::Call { args, .. } = &ask {
                buildable(args);
            }
            child.request(ask).map(|(own, frame)| {
                assert_eq!(own, id);
                frame
            })
        }
        Received::Answer(answer) => {
            if let RunAnswer::Returned(returned) = &answer {
                buildable(&returned.value);
            }
            child.answer(answer)
        }
        Received::CallLimit => return None,
    };
    Some(frame.expect("what was legal for the supervisor is legal for the child"))
}

fn buildable(text: &JsonText) {
    assert!(text.to_value().is_ok(), "what passed can be built");
}

fn said_by_supervisor(supervisor: &mut SupervisorSession, limits: &RunLimits, heard: &ToChild) -> Option<Vec<u8>> {
    let frame = match heard {
        ToChild::Run { run, .. } => {
            assert_eq!(run.limits, limits.wire(), "the run frame of a vector has the limits of the vector");
            supervisor.run(run)
        }
        ToChild::Reply { id, result: Ok(value) } => supervisor.reply(*id, value),
        ToChild::Reply { id, result: Err(error) } => supervisor.refuse(*id, error),
    };
    Some(frame.expect("what was legal for the child is legal for the supervisor"))
}

/// The first violation and its step.
fn replay(conversation: &Conversation, cut: usize) -> Option<(usize, ViolationKind)> {
    let mut ends = Ends::new(conversation);
    for (index, step) in conversation.steps.iter().enumerate() {
        let result = if step.eof { ends.end(step.from) } else { ends.say(step.from, &step.bytes(), cut) };
        if let Err(violation) = result {
            return Some((index, violation.kind()));
        }
    }
    None
}

#[test]
fn valid_conversations_break_no_rule() {
    let vectors = vector::read::<End>("valid");
    assert!(vectors.len() >= 20, "only {} vectors were read", vectors.len());
    for (name, conversation) in &vectors {
        assert!(conversation.violation.is_none() && !conversation.about.is_empty(), "{name}");
        for cut in CUTS {
            assert_eq!(replay(conversation, cut), None, "{name}, cut into {cut}");
        }
    }
}

#[test]
fn invalid_conversations_break_the_rule_they_name_where_they_say() {
    let vectors = vector::read::<End>("invalid");
    assert!(vectors.len() >= 50, "only {} vectors were read", vectors.len());
    for (name, conversation) in &vectors {
        let expected = conversation.violation.as_ref().unwrap_or_else(|| panic!("{name} names no violation"));
        let by_supervisor = conversation.steps[expected.step].from == End::Supervisor;
        assert_eq!(by_supervisor, name.starts_with("supervisor-"), "{name}");
        for cut in CUTS {
            let found = replay(conversation, cut).map(|(step, kind)| (step, kind.as_str()));
            assert_eq!(found, Some((expected.step, expected.kind.as_str())), "{name}, cut into {cut}");
        }
    }
}

#[test]
fn every_rule_has_a_vector() {
    let vectors = vector::read::<End>("invalid");
    let named: BTreeSet<&str> =
        vectors.iter().filter_map(|(_, conversation)| Some(conversation.violation.as_ref()?.kind.as_str())).collect();
    let known: BTreeSet<&str> = ViolationKind::ALL.map(ViolationKind::as_str).into();
    assert_eq!(named, known);
}

#[test]
fn the_replay_can_fail() {
    for (name, mut conversation) in vector::read::<End>("invalid") {
        let step = conversation.violation.take().expect("invalid").step;
        conversation.steps.truncate(step);
        assert_eq!(replay(&conversation, usize::MAX), None, "{name} is legal without its last step");
    }
}
