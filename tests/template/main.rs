//! Forks of one template: nothing goes from one to another, nothing is left of them, and nobody waits for the template.
//!
//! These tests start their children the template way, whatever `CODEMODE_LAUNCHER` says. Most count what this process holds or measure time, so each runs
//! alone. Figures that only an optimised build can keep are wider in a debug build; `CODEMODE_LONG=1` turns on full lengths there.

mod arming;
mod code;
mod ends;
mod endurance;
mod limits;
mod loss;
mod neighbours;
mod planted;
mod randomness;
mod renewal;
mod witness;
