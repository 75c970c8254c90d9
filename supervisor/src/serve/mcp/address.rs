//! Where to listen, as a person writes it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// An address to listen at: `8808`, `127.0.0.1:8808`, `localhost:8808`, `[::1]:8808`, `192.0.2.7:8808`. A bare port means 127.0.0.1. No name is looked up:
/// what a name server says must not decide who can reach this.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct HttpAddress(SocketAddr);

/// A text that is no such address.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{text:?} is no address\nwrite a port (`8808`), or an address and a port (`127.0.0.1:8808`, `[::1]:8808`)")]
pub struct HttpAddressError {
    text: String,
}

impl FromStr for HttpAddress {
    type Err = HttpAddressError;

    fn from_str(text: &str) -> Result<HttpAddress, HttpAddressError> {
        let loopback = |port: &str| port.parse().ok().map(|port| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
        let address = match text.strip_prefix("localhost:") {
            Some(port) => loopback(port),
            None => loopback(text).or_else(|| text.parse().ok()),
        };
        address.map(HttpAddress).ok_or_else(|| HttpAddressError { text: text.to_owned() })
    }
}

impl HttpAddress {
    /// The address.
    pub fn socket(self) -> SocketAddr {
        self.0
    }

    /// Whether only this host can reach it.
    pub fn is_loopback(self) -> bool {
        self.0.ip().to_canonical().is_loopback()
    }

    /// The names in a `Host` header that mean this address, once the port is known: those of loopback for loopback, the address itself otherwise. Of an
    /// address that means every interface only loopback's are known by themselves.
    pub(super) fn names(self, port: u16) -> Vec<String> {
        let ip = self.0.ip();
        let mut names = vec!["localhost".to_owned(), Ipv4Addr::LOCALHOST.to_string(), bracketed(Ipv6Addr::LOCALHOST.into())];
        let own = bracketed(ip);
        if !ip.is_unspecified() && !names.contains(&own) {
            names.push(own);
        }
        names.into_iter().map(|name| format!("{name}:{port}")).collect()
    }
}

impl fmt::Display for HttpAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn bracketed(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_port_and_localhost_are_loopback() {
        for (text, wanted) in
            [("8808", "127.0.0.1:8808"), ("localhost:80", "127.0.0.1:80"), ("127.0.0.9:1", "127.0.0.9:1"), ("[::1]:5", "[::1]:5")]
        {
            let address: HttpAddress = text.parse().unwrap();
            assert!(address.is_loopback(), "{text}");
            assert_eq!(address.to_string(), wanted);
        }
    }

    #[test]
    fn what_others_can_reach_is_no_loopback() {
        for text in ["0.0.0.0:80", "[::]:80", "192.0.2.7:80", "[::ffff:192.0.2.7]:80", "[2001:db8::1]:80"] {
            assert!(!text.parse::<HttpAddress>().unwrap().is_loopback(), "{text}");
        }
        assert!("[::ffff:127.0.0.1]:80".parse::<HttpAddress>().unwrap().is_loopback());
    }

    #[test]
    fn names_are_not_looked_up() {
        for text in ["", "example.org:80", "127.0.0.1", "70000", "-1", ":80", "localhost"] {
            assert!(text.parse::<HttpAddress>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_names_of_an_address_are_its_own_and_those_of_loopback() {
        let names = |text: &str| text.parse::<HttpAddress>().unwrap().names(5);
        let loopback = ["localhost:5", "127.0.0.1:5", "[::1]:5"];
        assert_eq!(names("0"), loopback);
        assert_eq!(names("0.0.0.0:0"), loopback);
        assert_eq!(names("192.0.2.7:0"), [&loopback[..], &["192.0.2.7:5"]].concat());
    }
}
