//! Gateways in other languages: sessions in memory, and `codemode serve` over its socket.

mod session;
