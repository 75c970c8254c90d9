//! Gateways in other languages: sessions in memory, and `codemode serve` over its socket.

mod hostile;
mod runs;
mod served;
mod session;
mod socket;
