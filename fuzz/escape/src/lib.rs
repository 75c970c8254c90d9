//! Attack bodies from a grammar, against one wall at a time.
//!
//! - [`grammar`]: a data file of alternatives, and how text is made from it.
//! - [`body`]: one body: a head that collects and cashes in, statements, an end. `(seed, number)` make the same body again.
//! - [`configuration`]: which walls stand, which hole is open.
//! - [`range`]: a supervisor in one configuration with witnesses around it; runs bodies and says what was touched.
//! - [`hunt`]: bodies without end until the time is over, and their statistics.
//! - [`minimise`]: a find, statement by statement, down to what it needs.
//! - [`corpus`]: finds on disk, for the replay.
//!
//! Nothing here believes what a body says of itself. A body that reached the main realm has a mark that only its objects carry; one that reached the host has
//! touched a file, a socket or the environment of this process; one that reached the bridge has answered in the bridge's name.

pub mod body;
pub mod configuration;
pub mod corpus;
pub mod grammar;
pub mod hunt;
pub mod minimise;
pub mod range;
