//! What the tests of codemode share.
//!
//! - [`binary`]: the `codemode` program as a person starts it, and what it leaves.
//! - [`rig`]: supervisors, catalogs and runs. One environment variable, `CODEMODE_LAUNCHER`, chooses how every test starts its children.
//! - [`program`]: where the `codemode` program of this build is.
//! - [`census`], [`listeners`], [`signals`]: witnesses. A test that says "nothing happened" asks one of them, and shows that it can see.
//! - [`patience`]: bounded waiting for a condition; no test sleeps and hopes.
//! - [`host`]: what a host must have. What is missing fails the test, unless `CODEMODE_EXPECT` says that it is missing on purpose.
//! - [`fake_source`]: a source of tools that keeps account.
//! - [`embedding`]: the library in a process of its own, for what cannot be done to the process of a test.
//! - [`fault`]: what can go wrong at a step; [`asked`]: the command line of a test program that has a `main` of its own.
//! - [`recorded`]: a stand-in for Node that has the jail's part of the conversation.
//! - [`script`]: what a stand-in for Node does, step by step.
//!
//! `CODEMODE_NODE` is the Node of every test, `CODEMODE_NODES` further ones, `CODEMODE_DATA` the folder of the large catalog.

pub mod asked;
pub mod binary;
pub mod census;
pub mod embedding;
pub mod fake_source;
pub mod fault;
pub mod host;
pub mod listeners;
pub mod patience;
pub mod program;
pub mod recorded;
pub mod rig;
pub mod script;
pub mod signals;
