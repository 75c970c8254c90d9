//! Everybody the supervisor depends on, each with a stand-in that fails on demand.

mod approver;
mod backend;
mod child;
mod gateway;
mod hook;
mod launch;
mod mcp;
mod source;
mod template;

pub use self::list::all;

mod list;
