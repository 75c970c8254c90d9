//! The SDK's transport for a server on the network, with a client of ours.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use super::super::quoted;
use super::lines::LINE_BYTES;

/// How long a server may take to accept a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Redirects within one server at most.
const MOST_REDIRECTS: usize = 5;

/// The transport to this address.
///
/// # Errors
/// What the entry says cannot be used, in words.
pub(super) fn transport(url: &str, headers: &BTreeMap<String, String>) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    let mut custom = HashMap::new();
    for (name, value) in headers {
        let bad = |what: &str| format!("its header {} has {what} that cannot be sent", quoted(name));
        let mut value = HeaderValue::from_str(value).map_err(|_| bad("a value"))?;
        value.set_sensitive(true);
        custom.insert(HeaderName::try_from(name.as_str()).map_err(|_| bad("a name"))?, value);
    }
    // One bound for what a server may send at once, whatever it comes through.
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(custom)
        .max_sse_event_size(LINE_BYTES)
        .max_json_response_size(LINE_BYTES)
        .reinit_on_expired_session(true);
    Ok(StreamableHttpClientTransport::with_client(client()?, config))
}

fn client() -> Result<reqwest::Client, String> {
    let tls = tls().map_err(|error| format!("no certificate can be checked here: {error}"))?;
    let builder =
        reqwest::Client::builder().tls_backend_preconfigured(tls).connect_timeout(CONNECT_LIMIT).redirect(Policy::custom(|attempt| {
            // The entry's headers are for its own server alone.
            let is_home = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
            if is_home && attempt.previous().len() <= MOST_REDIRECTS { attempt.follow() } else { attempt.stop() }
        }));
    builder.build().map_err(|error| format!("no connection can be made here: {error}"))
}

/// With a provider of its own: none is installed for the whole process, which is the embedder's.
fn tls() -> Result<rustls::ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    rustls_platform_verifier::BuilderVerifierExt::with_platform_verifier(builder).map(|builder| builder.with_no_client_auth())
}

/// Whether a request that failed so can not have reached its server.
pub(super) fn never_arrived(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_connect) {
            return true;
        }
        cause = error.source();
    }
    false
}
