//! How to reach a fleet.

use std::path::PathBuf;
use std::time::Duration;

use async_nats::{ConnectOptions, ServerAddr};

use super::error::FleetError;
use super::id::Id;
use super::subjects::{End, Name, Subjects};

/// How long a connection may take to come about.
const CONNECTS_WITHIN: Duration = Duration::from_secs(5);

/// How long until a lost connection is tried again, at most: a NATS that is back is found soon, and one that is not is not flooded.
const RETRIED_WITHIN: Duration = Duration::from_millis(500);

/// Messages that may wait in this program for the task that sorts them, whatever they are: 32 runs with everything on its way that may be. More of them means that somebody sends what nobody asked for,
/// and what does not get in is missing.
const WAITING: usize = 32 * 512;

/// A certificate of this end, and its key: files in PEM.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ClientCertificate {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// How to reach a fleet.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FleetSettings {
    /// Addresses of NATS, commas between: `nats://HOST:4222`, `tls://HOST:4222`; with `USER:PASSWORD@` before the host if need be.
    pub url: String,
    /// The subject of offers; everything else lies below it. Both ends name the same.
    pub subject: String,
    /// The name of this end, one token of a subject and in this fleet its own; random when there is none. Permissions that name inboxes need one.
    pub name: Option<String>,
    /// A file with credentials, as `nsc` makes them.
    pub credentials: Option<PathBuf>,
    /// A file with the authorities that may have signed the server's certificate, instead of those of this host.
    pub tls_authorities: Option<PathBuf>,
    /// What this end shows to a server that asks for it.
    pub tls_certificate: Option<ClientCertificate>,
    /// Whether a server without TLS is refused.
    pub requires_tls: bool,
}

impl FleetSettings {
    /// The subject where nobody says another.
    pub const SUBJECT: &str = "codemode.runs";

    /// This address, and the rest as usual.
    pub fn new(url: impl Into<String>) -> FleetSettings {
        FleetSettings {
            url: url.into(),
            subject: FleetSettings::SUBJECT.to_owned(),
            name: None,
            credentials: None,
            tls_authorities: None,
            tls_certificate: None,
            requires_tls: false,
        }
    }

    pub(super) fn subjects(&self) -> Result<Subjects, FleetError> {
        Subjects::new(&self.subject).ok_or_else(|| FleetError::Subject(self.subject.clone()))
    }

    pub(super) fn name(&self) -> Result<Name, FleetError> {
        let random = || Id::random().map(|id| id.hex()).map_err(|_| FleetError::Random);
        let name = self.name.clone().map_or_else(random, Ok)?;
        Name::new(&name).ok_or(FleetError::Name(name))
    }

    /// The user of the first address that names one.
    fn user(&self) -> Option<(String, String)> {
        self.url.split(',').filter_map(|address| address.trim().parse::<ServerAddr>().ok()).find_map(|address| {
            let password = address.password().unwrap_or_default();
            Some((decoded(address.username()?)?, decoded(password)?))
        })
    }

    pub(super) async fn options(&self, end: End, name: &Name) -> Result<ConnectOptions, FleetError> {
        let who = match end {
            End::Gateway => "gateway",
            End::Worker => "worker",
        };
        let mut options = ConnectOptions::new()
            .name(format!("codemode {who} {}", name.as_str()))
            .connection_timeout(CONNECTS_WITHIN)
            .reconnect_delay_callback(|attempts| RETRIED_WITHIN.min(Duration::from_millis(20 * attempts as u64)))
            .subscription_capacity(WAITING)
            .no_echo();
        // The client takes an address with a user for one without.
        if let Some((user, password)) = self.user() {
            options = options.user_and_password(user, password);
        }
        if let Some(path) = &self.credentials {
            let refused = |source| FleetError::Credentials { path: path.clone(), source };
            options = options.credentials_file(path).await.map_err(refused)?;
        }
        if let Some(path) = &self.tls_authorities {
            options = options.add_root_certificates(path.clone());
        }
        if let Some(own) = &self.tls_certificate {
            options = options.add_client_certificate(own.certificate.clone(), own.key.clone());
        }
        // Who names authorities or a certificate does not mean to talk in the clear.
        let names_tls = self.tls_authorities.is_some() || self.tls_certificate.is_some();
        Ok(options.require_tls(self.requires_tls || names_tls))
    }
}

/// A part of an address without its percent signs.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut parts = text.split('%');
    bytes.extend_from_slice(parts.next()?.as_bytes());
    for part in parts {
        let (code, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(code, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_stands_in_the_address_in_the_usual_way() {
        let user = |url: &str| FleetSettings::new(url).user();
        assert_eq!(user("nats://127.0.0.1:4222"), None);
        assert_eq!(user("nats://one:two@127.0.0.1"), Some(("one".to_owned(), "two".to_owned())));
        assert_eq!(user("nats://h, tls://a%40b:p%3Aw%25@h"), Some(("a@b".to_owned(), "p:w%".to_owned())));
    }
}
