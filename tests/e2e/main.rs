//! Real bodies, real walls, the library as its callers use it.

mod calls;
mod deadlines;
mod death;
mod events;
mod hosts;
mod large_catalog;
mod leftovers;
mod manners;
mod nodes;
mod values;

/// The program that embeds the library in a process of its own.
const EMBEDDER: &str = env!("CARGO_BIN_EXE_embedder");
