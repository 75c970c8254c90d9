//! From sources to what a model sees and may call.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod sources;
