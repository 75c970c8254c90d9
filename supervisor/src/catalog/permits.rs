//! The question that policy answers.

use std::fmt;

/// Says which tools may be seen and called. What it says may change between two questions: it is asked when a view is made, and at each call.
pub trait Permits: Send + Sync + fmt::Debug {
    /// Whether the tool with this id may be seen and called.
    fn permits(&self, id: &str) -> bool;
}
