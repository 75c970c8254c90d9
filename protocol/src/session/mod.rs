//! Sessions: which message may come now.
//!
//! Pure state, one value for each end of one run. A session reads and writes frames but does no I/O; time, sizes above the frame limit and what a request
//! means belong to whoever holds it.
//!
//! ```text
//! supervisor   AwaitHello ──hello──▶ Running ──answer──▶ Over
//!                  └ run may be sent in either of the first two, once
//! ```

mod child;
mod supervisor;

pub use child::{ChildSession, TurnError};
pub use supervisor::{Received, SupervisorSession};

use std::fmt;

use crate::frame::{EncodeError, FrameError, FrameLimit, PREFIX_BYTES, encode_message};
use crate::json::{MAX_DEPTH, depth};
use serde::Serialize;

/// A message of ours that was not written.
///
/// The session is as it was before, so a request that could not be answered with its value can still be answered with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplyError {
    /// The request was never made, or is answered already.
    NotOpen,
    /// `run` was sent before, or the run is over.
    OutOfTurn,
    /// The frame would be longer than the limit.
    TooLong {
        /// The length that its text would have.
        length: u64,
        /// The limit.
        limit: u64,
    },
    /// The value is nested too deeply for the wire.
    TooDeep,
    /// The value has no JSON.
    NotJson,
}

impl fmt::Display for ReplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOpen => write!(f, "no request with this id is open"),
            Self::OutOfTurn => write!(f, "this message was sent before, or the run is over"),
            Self::TooLong { length, limit } => write!(f, "the message has {length} bytes, a frame may have {limit}"),
            Self::TooDeep => write!(f, "the value is nested deeper than {MAX_DEPTH} levels"),
            Self::NotJson => write!(f, "the value has no JSON"),
        }
    }
}

impl std::error::Error for ReplyError {}

impl From<EncodeError> for ReplyError {
    fn from(error: EncodeError) -> Self {
        match error {
            EncodeError::Frame(FrameError::TooLong { length, limit }) => Self::TooLong { length, limit },
            // A message is never empty, and the other errors are of reading.
            EncodeError::Frame(_) | EncodeError::Json => Self::NotJson,
        }
    }
}

/// The frame of a message that holds a value of somebody else.
fn encode_checked<T: Serialize + ?Sized>(message: &T, hint: usize, limit: FrameLimit) -> Result<Vec<u8>, ReplyError> {
    let frame = encode_message(message, hint, limit)?;
    if depth(&frame[PREFIX_BYTES..]) > MAX_DEPTH { Err(ReplyError::TooDeep) } else { Ok(frame) }
}
