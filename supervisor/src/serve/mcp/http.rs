//! Many clients over streamable HTTP, at `/mcp`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::header::{CONNECTION, HOST, ORIGIN};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::address::HttpAddress;
use super::error::ServeError;
use super::framing::MOST_MESSAGE_BYTES;
use super::listener::{Bounded, PING, SILENT};
use super::server::McpServer;
use super::session::Session;
use super::sessions::Sessions;

/// The path of the one endpoint.
const PATH: &str = "/mcp";
/// How long open connections have to end when the server does.
const ENDS_WITHIN: Duration = Duration::from_millis(1_500);

/// Where to listen, and whom to believe.
#[derive(Clone, Debug)]
pub struct Http {
    /// The address.
    pub address: HttpAddress,
    /// Further names (`host` or `host:port`) that clients may have in their `Host` header: those of a proxy in front, or of this host.
    pub hosts: Vec<String>,
    /// Further pages (`https://host:port`) whose scripts may be clients. Without any, those of this server's own address only.
    pub origins: Vec<String>,
}

impl McpServer {
    /// Listens. `told` gets the URL once clients can connect; the server ends when `stop` is over, and everything that was done for its clients with it.
    ///
    /// # Errors
    /// When the address cannot be listened at, or connections are no longer taken.
    pub async fn serve_http(
        &self,
        http: &Http,
        told: impl FnOnce(&str),
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServeError> {
        let asked = http.address.socket();
        let refused = |source| ServeError::Listen { address: asked, source };
        let listener = TcpListener::bind(asked).await.map_err(refused)?;
        let bound = listener.local_addr().map_err(refused)?;
        let config = config(http, bound);
        let over = config.cancellation_token.clone();
        let sessions = Arc::new(Sessions::new());
        let shared = Arc::clone(&self.shared);
        let service = StreamableHttpService::new(move || Ok(Session::new(Arc::clone(&shared))), Arc::clone(&sessions), config);
        let router = Router::new().route_service(PATH, service).layer(from_fn(unambiguous));
        told(&format!("http://{bound}{PATH}"));
        let (ended, when_ended) = tokio::sync::oneshot::channel();
        let stopped = async move {
            stop.await;
            sessions.end();
            over.cancel();
            // The server may be gone by then.
            let _ = ended.send(());
        };
        let serving = axum::serve(Bounded::new(listener, SILENT), router).with_graceful_shutdown(stopped);
        let mut serving = std::pin::pin!(async move { serving.await });
        tokio::select! {
            served = &mut serving => return served.map_err(ServeError::Http),
            _ = when_ended => {}
        }
        // A client that holds its connection does not hold up the end.
        timeout(ENDS_WITHIN, serving).await.unwrap_or(Ok(())).map_err(ServeError::Http)
    }
}

/// Lets through what names one host and one page at most, and in one way: where two are named, what is checked and what is meant can differ. A client that was
/// refused gets no connection to keep.
async fn unambiguous(request: Request, next: Next) -> Response {
    let mut response = match ambiguity(&request) {
        Some(why) => (StatusCode::BAD_REQUEST, why).into_response(),
        None => next.run(request).await,
    };
    if response.status().is_client_error() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

fn ambiguity(request: &Request) -> Option<&'static str> {
    let headers = request.headers();
    let mut hosts = headers.get_all(HOST).iter();
    let (host, another) = (hosts.next(), hosts.next());
    if another.is_some() || headers.get_all(ORIGIN).iter().nth(1).is_some() {
        return Some("Bad Request: Host or Origin is there twice");
    }
    if host.is_some_and(|host| host.as_bytes().contains(&b'@')) {
        return Some("Bad Request: Host names a user");
    }
    // A request for a whole address means the host in it, whatever the header says.
    match (request.uri().authority(), host) {
        (Some(meant), Some(host)) if meant.as_str().as_bytes() != host.as_bytes() => Some("Bad Request: the address and Host differ"),
        _ => None,
    }
}

fn config(http: &Http, bound: SocketAddr) -> StreamableHttpServerConfig {
    let names = http.address.names(bound.port());
    let origins = names.iter().map(|name| format!("http://{name}")).chain(http.origins.iter().cloned());
    StreamableHttpServerConfig::default()
        .with_allowed_origins(origins)
        .enforce_origin_validation()
        .with_allowed_hosts(names.iter().cloned().chain(http.hosts.iter().cloned()))
        .with_max_request_body_bytes(MOST_MESSAGE_BYTES)
        .with_sse_keep_alive(Some(PING))
        // No stream can be taken up again once it was cut: what was done for it has ended.
        .with_sse_retry(None)
}
