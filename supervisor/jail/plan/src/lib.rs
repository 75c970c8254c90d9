//! Plan and report of a jail, shared by the supervisor and the jail object.
//!
//! *Plan*: the one message the supervisor sends before the child's first instruction; what to build. *Record*: one fixed-size message
//! back; what came of one step. *Order*: a later message that arms the child (or, to a template, asks for a fork).
//!
//! Everything is plain bytes in little-endian order, both ends run on one machine, and the module [`wire`] is also compiled into the
//! object itself: it needs `core` alone.
#![no_std]
#![forbid(unsafe_code)]

pub mod wire;
