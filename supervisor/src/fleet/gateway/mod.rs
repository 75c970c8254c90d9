//! The end of a run where its tools are.
//!
//! [`FleetExecutor`] starts runs. Each is a `run`: it finds a worker (`claim`), speaks with it (`talk`), answers what the body asks for (`desk`, through the gate), writes down what
//! became of every call (`book`) and reads the report in that light (`report`). `clock` says when it has gone on for too long.

mod book;
mod claim;
mod clock;
mod desk;
mod executor;
mod report;
mod run;
mod start;
mod talk;

pub use executor::FleetExecutor;
