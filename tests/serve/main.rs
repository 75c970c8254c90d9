//! Gateways in other languages: sessions in memory, and `codemode serve` over its socket.

mod backend;
mod hostile;
mod runs;
mod served;
mod session;
mod socket;
mod unit;
