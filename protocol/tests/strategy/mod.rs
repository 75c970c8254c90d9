//! Messages between codemode and a gateway, of every kind.

mod gateway;

pub use gateway::{from_gateway, stream, to_gateway};
