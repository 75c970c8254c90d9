//! What can go wrong at a step of anybody's conversation.

use serde::{Deserialize, Serialize};

/// One way to go wrong.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Nothing comes any more.
    Stop,
    /// It is gone: killed, crashed, panicked.
    Die,
    /// It stalls, and then goes on as if nothing had been.
    Late,
    /// It says the same once more.
    Twice,
    /// It says what is no word of this conversation.
    Garbage,
    /// It says the right thing, a byte or a piece at a time.
    Slowly,
    /// It says more than anybody reads.
    Flood,
    /// It closes the direction in which it speaks, and stays.
    Mute,
    /// It closes the direction in which it listens, and goes on as far as that lets it.
    Deaf,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Fault; 9] =
        [Fault::Stop, Fault::Die, Fault::Late, Fault::Twice, Fault::Garbage, Fault::Slowly, Fault::Flood, Fault::Mute, Fault::Deaf];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Stop => "stop",
            Fault::Die => "die",
            Fault::Late => "late",
            Fault::Twice => "twice",
            Fault::Garbage => "garbage",
            Fault::Slowly => "slowly",
            Fault::Flood => "flood",
            Fault::Mute => "mute",
            Fault::Deaf => "deaf",
        }
    }
}
