//! What a model gets in place of every tool's schema, and how what it asks for is done.
//!
//! [`plan`] puts a run's catalog together in steps and ends with its [`Surface`]: tool definitions with names a provider takes, each of which maps back
//! to a [`Target`]. [`Executor`] does what a model asks for by such a name. Every way to a tool (code, structured, directory, direct) leads through the same
//! [`Passage`](crate::gate::Passage): a surface decides what is *shown*, never what is *allowed*.

mod control;
mod definition;
mod directory;
mod executor;
mod names;
mod plan;
mod surface;

pub use control::Control;
pub use definition::ToolDefinition;
pub use executor::{Executor, Outcome, recorded};
pub(crate) use executor::{note_end, note_event, note_start};
pub use plan::{Plan, PlanRequest, ShownInstead, plan};
pub use surface::{RefusedName, Shown, Surface, SurfaceBytes, SurfaceRequest, Target};
