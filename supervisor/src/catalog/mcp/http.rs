//! The SDK's transport for a server on the network, with a client of ours.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError};
use rmcp::transport::{DynamicTransportError, StreamableHttpClientTransport};

use super::super::quoted;
use super::chatter::Chatter;
use super::web::Web;

/// How long a server may take to accept a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Redirects within one server at most.
const MOST_REDIRECTS: usize = 5;

/// The transport to this address.
///
/// # Errors
/// What the entry says cannot be used, in words.
pub(super) fn transport(
    url: &str,
    headers: &BTreeMap<String, String>,
    chatter: &Arc<Chatter>,
) -> Result<(StreamableHttpClientTransport<Web>, Web), String> {
    let mut custom = HashMap::new();
    for (name, value) in headers {
        let bad = |what: &str| format!("its header {} has {what} that cannot be sent", quoted(name));
        let mut value = HeaderValue::from_str(value).map_err(|_| bad("a value"))?;
        value.set_sensitive(true);
        custom.insert(HeaderName::try_from(name.as_str()).map_err(|_| bad("a name"))?, value);
    }
    let config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(custom).reinit_on_expired_session(true);
    let web = Web::new(client()?, chatter);
    Ok((StreamableHttpClientTransport::with_client(web.clone(), config), web))
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
pub(super) fn never_arrived(error: &DynamicTransportError) -> bool {
    match failure(error) {
        Some(StreamableHttpError::Client(error)) => error.is_connect(),
        // Who asks who is there first has done nothing yet.
        Some(StreamableHttpError::AuthRequired(_)) => true,
        _ => false,
    }
}

/// Why a message could not be brought, in words, without the address: it may have a key in it.
pub(super) fn words(error: &DynamicTransportError) -> String {
    match failure(error) {
        Some(failure) => words_of(failure),
        None => error.error.to_string(),
    }
}

pub(super) fn words_of(failure: &StreamableHttpError<reqwest::Error>) -> String {
    match failure {
        StreamableHttpError::Client(error) => {
            let what = if error.is_connect() {
                "no connection"
            } else if error.is_timeout() {
                "no answer in time"
            } else if error.is_redirect() {
                "a redirect that is not followed"
            } else if let Some(status) = error.status() {
                return format!("it answered with HTTP status {status}");
            } else {
                "the request failed"
            };
            let mut words = what.to_owned();
            let mut cause = error.source();
            while let Some(error) = cause {
                words = format!("{words}: {error}");
                cause = error.source();
            }
            words
        }
        StreamableHttpError::AuthRequired(_) => {
            "it answered with HTTP status 401: it wants to know who asks; put the header that it wants into `headers` of its entry"
                .to_owned()
        }
        StreamableHttpError::UnexpectedServerResponse(what) => format!("it answered with {what}"),
        StreamableHttpError::UnexpectedContentType(Some(kind)) => format!("it answered with the content type {}", quoted(kind)),
        StreamableHttpError::UnexpectedContentType(None) => "it answered without a content type".to_owned(),
        error => error.to_string(),
    }
}

/// The transport's own error: what it is wrapped in varies.
fn failure(error: &DynamicTransportError) -> Option<&StreamableHttpError<reqwest::Error>> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(&*error.error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        cause = error.source();
    }
    None
}
