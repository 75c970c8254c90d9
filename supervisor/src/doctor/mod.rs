//! The doctor: which walls stand on this host, shown by trying.
//!
//! A *claim* is one act that one wall says it stops alone (`claims.rs`). Each is tried twice, by a real Node's process that is given one act and no JavaScript
//! ([`crate::launch`]'s probes): without any wall, where it must succeed (the *control*), and with that wall alone, where it must fail as expected.
//! A control that fails makes a row `untested`, never `enforced`. The walls made of JavaScript are tried through the bridge (`realms.rs`).
//!
//! The status of a wall comes from the report of a real run, so that doctor and reports tell one story; the acts can only make it worse.

mod advice;
mod claims;
mod examine;
mod finding;
mod host;
mod native;
mod realms;
mod support;

pub use advice::Advice;
pub use examine::{Examination, NodeFacts, Runs, Start, TemplateFacts, examine};
pub use finding::{ActRow, Verdict, WallFinding};
pub use host::{Cgroup, Host, Landlock, Resources, UserNamespaces};
pub use support::{Support, SupportState};
