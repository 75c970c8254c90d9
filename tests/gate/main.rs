//! The gate from outside: each step of a call, from a body in a child and by the structured way.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod arguments;
mod commands;
mod order;
mod output;
mod reports;
mod stage;
mod walks;
