//! What a run asked its catalog, and what it was answered: written down, and played back.
//!
//! [`Recording`] is a catalog around another one; it keeps a *record*, and [`Recording::save`] writes it. [`Replay`] is a catalog out of a record: it answers
//! a run as the recorded one was answered, needs no backend, and finds the first request that the recorded run did not make.
//!
//! A record holds requests as they stand between gate and catalog: arguments as the backend got them, values as it gave them. What the gate refuses by
//! itself (arguments that do not fit a schema) is refused again when the run is played back, by the same schemas. The form: `docs/record.md`.

mod error;
mod format;
mod recording;
mod replay;

pub use error::{RecordError, RecordProblem};
pub use format::RecordFile;
pub use recording::Recording;
pub use replay::{Divergence, Replay};

/// Bytes of a record at most, the same as of a catalog file. It is held in memory while a run goes on.
const MAX_BYTES: usize = 64 << 20;

/// Requests of a record at most: the hard cap of a run's requests, each of which can ask for a tool and call it.
const MAX_REQUESTS: usize = 20_000;
