//! The question that policy answers.

use std::fmt;

/// Says which tools may be seen and called, as things are when it is asked: when the view of a run is made, and at each call.
///
/// A [`gate::Policy`](crate::gate::Policy) says the same always. An embedder whose rules may change while a run goes on brings its own.
pub trait Permission: Send + Sync + fmt::Debug {
    /// Whether the tool with this id may be seen and called now.
    fn permits(&self, id: &str) -> bool;
}
