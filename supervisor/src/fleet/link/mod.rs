//! One run between its two ends: texts in, texts out, with proof of who speaks and that nothing is missing.
//!
//! `inbound`, `arrived`, `outbound`, `window` and `pulse` are pure; `carry` is the loop.

mod arrived;
mod carry;
mod fault;
mod inbound;
mod outbound;
#[cfg(any(test, feature = "danger"))]
pub(crate) mod property;
mod pulse;
#[cfg(test)]
mod tests;
mod window;

pub(super) use carry::{Link, Texts};
pub(super) use fault::LinkFault;

/// Parcels for which an inbox has room: what may be on its way, and as many beats as can come before the end is taken for silent, many times over.
pub(super) const INBOX_PARCELS: usize = window::MOST_PARCELS + 64;

/// The same in bytes.
pub(super) const INBOX_BYTES: usize = window::MOST_BYTES + INBOX_PARCELS * super::wire::HEAD;
