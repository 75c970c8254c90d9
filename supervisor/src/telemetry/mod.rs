//! What a run tells about its use of the catalog.

mod summary;

pub use summary::{Selected, SourceCounts, Telemetry};
