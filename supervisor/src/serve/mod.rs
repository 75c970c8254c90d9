//! Ways in for who is not a Rust program.
//!
//! [`session`]: one gateway's runs, whatever carries the messages.

pub mod session;
