//! The catalog of a run, put together from sources.
//!
//! [`Sources`] are those of a gateway, with the list that each gave last. A run takes three kinds of lists in a fixed order (`openclaw` and `plugin`, `mcp`,
//! then the tools of its client) into a [`Listing`], and [`Listing::index`] makes it a [`RunCatalog`] of what policy leaves: the view of the run, fixed
//! from there on. Whether a tool is there is asked again at each call ([`Catalog::available`](super::Catalog::available)).
//!
//! A source that does not answer in time is told as unavailable and holds nobody up; one that gave a list before keeps it, marked stale.

mod listing;
mod reading;
mod shelf;
mod view;

pub use listing::Listing;
pub use shelf::Sources;
pub use view::{RunCatalog, SearchLimits};
