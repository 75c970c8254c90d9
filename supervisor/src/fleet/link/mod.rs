//! One run between its two ends: texts in, texts out, with proof of who speaks and that nothing is missing.
//!
//! `inbound`, `outbound` and `pulse` are pure; `carry` is the loop.

mod carry;
mod fault;
mod inbound;
mod outbound;
mod pulse;
#[cfg(test)]
mod tests;

pub(super) use carry::{Link, Texts};
pub(super) use fault::LinkFault;

/// Parcels for which an inbox has room: what may be on its way, and as many beats as can come before the end is taken for silent, many times over.
pub(super) const INBOX_PARCELS: usize = outbound::MOST_PARCELS + 64;
