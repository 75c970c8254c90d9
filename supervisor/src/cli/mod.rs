//! The command line: the only place that knows about exit codes, terminals and files of a user.
//!
//! `arguments` says what can be typed, `usage` what to say of the rest; `dispatch` goes to the command. What goes out passes `screen` (nothing that a
//! terminal would obey) and `paint` (colours, where a person looks). Standard output carries the result and nothing else.

mod approve;
mod arguments;
mod dispatch;
mod doctor;
mod examples;
mod excerpt;
mod exit;
mod fleet;
mod input;
mod launching;
mod live;
mod mcp;
mod number;
mod pages;
mod paint;
mod report;
mod run;
mod serve;
mod show;
mod stop;
mod table;
mod tape;
mod tools;
mod usage;
mod watch;
mod worker;

pub use dispatch::main;
