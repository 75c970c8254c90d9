//! The supervisor's end of the socket pair: bytes in, legal messages out, and frames back, with neither direction waiting for the other.
//!
//! Every byte from here is hostile. The bridge keeps the rules of the wire (`codemode-protocol` has them) and the bounds on what it holds;
//! what a message means is the run's business.

mod channel;
mod rehearsal;

pub(crate) use channel::{Bridge, Turn};
pub(crate) use rehearsal::rehearsal;
