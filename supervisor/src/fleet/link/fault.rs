//! Why a link is over before its time.

use super::pulse::Over;
use crate::fleet::post::Untaken;
use crate::fleet::wire::NoMessage;
use crate::run::ErrorCode;

/// Why a link is over before its time.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(in crate::fleet) enum LinkFault {
    #[error("nothing was heard of the other end for a second")]
    Silent,
    #[error("the other end has taken nothing of what waits for it for ten seconds")]
    Stuck,
    #[error("the connection to NATS is over")]
    Gone,
    #[error("NATS took no message for a second")]
    Untaken,
    #[error(transparent)]
    NoMessage(#[from] NoMessage),
    #[error("a message is not from the other end of this run: it does not bear the run's token")]
    Forged,
    #[error("a message is missing: number {expected} was expected, and {came} came")]
    Gap { expected: u64, came: u64 },
    #[error("a text has {bytes} bytes or more, the limit is {limit}")]
    TooLong { bytes: usize, limit: usize },
    #[error("the other end sends further ahead than it may")]
    TooFar,
    #[error("a text is not UTF-8")]
    NotUtf8,
    #[error("the other end says it has heard message {heard}, and the last was {last}")]
    Unsent { heard: u64, last: u64 },
}

impl From<Untaken> for LinkFault {
    fn from(_: Untaken) -> LinkFault {
        LinkFault::Untaken
    }
}

impl From<Over> for LinkFault {
    fn from(over: Over) -> LinkFault {
        match over {
            Over::Silent => LinkFault::Silent,
            Over::Stuck => LinkFault::Stuck,
        }
    }
}

impl LinkFault {
    /// What a run that ends by it is reported as.
    pub(in crate::fleet) fn code(&self) -> ErrorCode {
        match self {
            LinkFault::Silent | LinkFault::Stuck | LinkFault::Gone | LinkFault::Untaken => ErrorCode::WorkerLost,
            LinkFault::NoMessage(_)
            | LinkFault::Forged
            | LinkFault::Gap { .. }
            | LinkFault::TooLong { .. }
            | LinkFault::TooFar
            | LinkFault::NotUtf8
            | LinkFault::Unsent { .. } => ErrorCode::ProtocolViolation,
        }
    }
}
