//! What the supervisor and its child say to each other, and when they may say it.
//!
//! The child runs hostile code, so this crate is written from the supervisor's side of the table: bytes come in, and what comes out is either
//! a typed message that was legal at that moment, or a [`Violation`] that ends the run. There is no third outcome, no panic, and no work
//! that grows with what the peer *claims* instead of with what it has *sent*.
//!
//! # Vocabulary
//!
//! - **frame**: a 4-byte length and that many bytes of text ([`frame`]).
//! - **message**: what the text of one frame means ([`message`]). Each direction has its own type, so neither end can say what only the other may.
//! - **session**: which message may come now ([`session`]).
//! - **gateway**: the other wire, to a gateway in any language, in the same frames ([`gateway`], `docs/gateway.md`).
//! - **claim**: anything in a message from the child. A typed claim is well-formed, not true.
//! - **violation**: the peer broke the rules of `docs/wire.md`, and which rule it was.
//! - **limit**: a number that bounds a run ([`limits`]), with its default and its hard cap.
//!
//! # The rule of this crate
//!
//! No I/O, no clock, no async, no `unsafe`, no global state, no dependency but serde. Text of the peer is never put into an error.
//! Every rule is written in `docs/wire.md`, and every rule has a vector in `vectors/`.

#![forbid(unsafe_code)]

mod fields;
pub mod frame;
pub mod gateway;
mod json;
pub mod limits;
pub mod message;
#[doc(hidden)]
pub mod property;
pub mod session;
mod violation;

pub use frame::{Decoder, Frame, FrameError, FrameLimit};
pub use json::{JsonText, MAX_DEPTH};
pub use limits::{Limit, LimitError, RunLimits, WireLimits};
pub use message::{
    Ask, CallCode, ChildVerdict, Console, FromChild, Hello, Level, Request, RequestId, Returned, Run, RunAnswer, RunError, Seed, ToChild,
    ValueType, WireError,
};
pub use session::{ChildSession, Received, ReplyError, SupervisorSession, TurnError};
pub use violation::{Violation, ViolationKind};

/// The version of the wire that this crate speaks; the child names it in `hello`.
pub const PROTOCOL: u64 = 1;
