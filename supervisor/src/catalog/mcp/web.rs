//! What goes over the network under the SDK's transport: the same bounds as on pipes, and the same results.
//!
//! The SDK keeps sessions and resumes streams. It sees neither a value of a stranger's nor what nobody waits for: an answer is read here, kept until whoever asked fetches it
//! ([`Web::take`]), and told to the SDK as an empty one.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{RequestBuilder, Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ErrorData, NumberOrString, ServerJsonRpcMessage, ServerResult};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse, StreamableHttpResponseLimits,
};
use serde_json::Value;
use sse_stream::{Sse, SseStream};
use tokio::time::sleep;

use super::chatter::Chatter;
use super::events::{Budget, bounded};
use super::lines::LINE_BYTES;
use super::pace::Pace;
use super::sorting::{AT_ONCE, Open, Sorted, read, sorted};

const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
/// Bytes of the body of a refusal that are read: a protocol's error fits.
const REFUSAL_BYTES: usize = 64 << 10;
/// Characters of it that are told.
const REFUSAL_CHARS: usize = 200;

type Failure = StreamableHttpError<reqwest::Error>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

/// The network side of one connection. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Web(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    client: reqwest::Client,
    chatter: Arc<Chatter>,
    open: Mutex<Open>,
    answers: Mutex<HashMap<i64, Result<Value, ErrorData>>>,
    budget: Budget,
    pace: Mutex<Pace>,
    /// What went wrong last, in words.
    trouble: Mutex<Option<String>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Web {
    pub(super) fn new(client: reqwest::Client, chatter: &Arc<Chatter>) -> Web {
        Web(Arc::new(Shared {
            client,
            chatter: Arc::clone(chatter),
            open: Mutex::default(),
            answers: Mutex::default(),
            budget: Budget::default(),
            pace: Mutex::default(),
            trouble: Mutex::default(),
        }))
    }

    /// The answer to this request of ours, if there is one, and that nobody waits for another.
    pub(super) fn take(&self, id: i64) -> Option<Result<Value, ErrorData>> {
        locked(&self.0.open).ours.remove(&id);
        locked(&self.0.answers).remove(&id)
    }

    /// Why the connection was given up, if it was.
    pub(super) fn cut(&self) -> Option<String> {
        self.0.budget.cut()
    }

    /// What went wrong last, in words.
    pub(super) fn trouble(&self) -> Option<String> {
        self.cut().or_else(|| locked(&self.0.trouble).clone())
    }

    fn noted<T>(&self, result: Result<T, Failure>) -> Result<T, Failure> {
        *locked(&self.0.trouble) = match &result {
            // Not all servers have a stream for what nobody asked for.
            Ok(_) | Err(Failure::ServerDoesNotSupportSse) => None,
            Err(failure) => Some(super::http::words_of(failure)),
        };
        result
    }

    /// What the SDK is to see of a text. Long ones are read aside: no clock may wait for a server.
    async fn sorted(&self, text: String) -> Option<ServerJsonRpcMessage> {
        let web = self.clone();
        let is_short = text.len() <= AT_ONCE;
        let reading = move || {
            let read = read(text.as_bytes(), &web.0.open);
            (text, read)
        };
        let (text, read) = if is_short { reading() } else { tokio::task::spawn_blocking(reading).await.ok()? };
        match sorted(read, &self.0.open) {
            Sorted::Answer { id, is_initialize, message } => {
                self.0.budget.heard();
                Some(if is_initialize { message } else { self.kept(id, message) })
            }
            Sorted::Late => None,
            Sorted::Said(message) => message,
            Sorted::Stray(stray) => {
                self.0.chatter.stray(stray, text.as_bytes());
                None
            }
        }
    }

    /// The same, where nothing but an answer will do.
    async fn answer(&self, text: String) -> Option<ServerJsonRpcMessage> {
        self.sorted(text).await.filter(|message| matches!(message, ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_)))
    }

    /// Keeps an answer; gives the empty one that stands for it.
    fn kept(&self, id: i64, message: ServerJsonRpcMessage) -> ServerJsonRpcMessage {
        let answer = match message {
            ServerJsonRpcMessage::Response(response) => match response.result {
                ServerResult::CustomResult(result) => Ok(result.0),
                other => Ok(serde_json::to_value(other).unwrap_or_default()),
            },
            ServerJsonRpcMessage::Error(error) => Err(error.error),
            other => return other,
        };
        locked(&self.0.answers).insert(id, answer);
        ServerJsonRpcMessage::response(ServerResult::empty(()), NumberOrString::Number(id))
    }

    /// A stream of events with what nobody waits for taken out of it.
    fn events(&self, response: Response) -> Events {
        let web = self.clone();
        let bytes = bounded(response.bytes_stream(), LINE_BYTES, web.0.budget.clone());
        let events = SseStream::from_bytes_stream(bytes).then(move |event| {
            let web = web.clone();
            async move {
                let mut event = event?;
                // When a stream is taken up again is not the server's to say alone.
                event.retry = None;
                if let Some(data) = event.data.take().filter(|data| !data.trim().is_empty()) {
                    // What cannot be written was never a message.
                    event.data = web.sorted(data).await.and_then(|message| serde_json::to_string(&message).ok());
                }
                Ok(event)
            }
        });
        events.boxed()
    }

    fn request(
        &self,
        mut request: RequestBuilder,
        session: Option<Arc<str>>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<RequestBuilder, Failure> {
        request = request.header(ACCEPT, format!("{EVENTS}, {JSON}"));
        for (name, value) in headers {
            if [ACCEPT.as_str(), SESSION, LAST_EVENT].contains(&name.as_str()) {
                return Err(Failure::ReservedHeaderConflict(name.to_string()));
            }
            request = request.header(name, value);
        }
        Ok(match session {
            Some(session) => request.header(SESSION, &*session),
            None => request,
        })
    }

    async fn post(
        &self,
        uri: &str,
        message: &ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        if let Some(cut) = self.cut() {
            return Err(unexpected(cut));
        }
        let had_session = session.is_some();
        let body = serde_json::to_vec(message)?;
        let request = self.request(self.0.client.post(uri), session, headers)?.header(CONTENT_TYPE, JSON).body(body);
        let response = request.send().await?;
        let status = response.status();
        let is_request = matches!(message, ClientJsonRpcMessage::Request(_));
        let content_type = content_type(&response);
        let session = response.headers().get(SESSION).and_then(|session| session.to_str().ok()).map(str::to_owned);
        match status {
            StatusCode::NOT_FOUND if had_session => Err(Failure::SessionExpired),
            StatusCode::UNAUTHORIZED => Err(unauthorized(&response)),
            _ if !status.is_success() => {
                let text = read_text(response, REFUSAL_BYTES).await?.unwrap_or_default();
                match if is_request && content_type == JSON { self.answer(text.clone()).await } else { None } {
                    Some(answer) => Ok(StreamableHttpPostResponse::Json(answer, session)),
                    None => Err(unexpected(format!("HTTP {status}: {}", text.trim().chars().take(REFUSAL_CHARS).collect::<String>()))),
                }
            }
            // Nothing is waited for, whatever comes.
            _ if !is_request => Ok(StreamableHttpPostResponse::Accepted),
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => Err(unexpected(format!("HTTP {status} where an answer should be"))),
            _ if content_type == EVENTS => Ok(StreamableHttpPostResponse::Sse(self.events(response), session)),
            _ if content_type == JSON => {
                let text = read_text(response, LINE_BYTES).await?.ok_or(Failure::ResponseBodyTooLarge { max_size: LINE_BYTES })?;
                let answer = self.answer(text).await;
                let answer = answer.ok_or_else(|| unexpected("something else than the answer to what it was asked".to_owned()))?;
                Ok(StreamableHttpPostResponse::Json(answer, session))
            }
            _ => Err(Failure::UnexpectedContentType(Some(content_type).filter(|kind| !kind.is_empty()))),
        }
    }

    async fn get(
        &self,
        uri: &str,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, Failure> {
        let wait = locked(&self.0.pace).next(tokio::time::Instant::now());
        sleep(wait).await;
        if self.cut().is_some() {
            // The one that the SDK does not try again.
            return Err(Failure::ServerDoesNotSupportSse);
        }
        let mut request = self.request(self.0.client.get(uri), session, headers)?;
        if let Some(last_event) = last_event {
            request = request.header(LAST_EVENT, last_event);
        }
        let response = request.send().await?;
        match response.status() {
            StatusCode::METHOD_NOT_ALLOWED => Err(Failure::ServerDoesNotSupportSse),
            StatusCode::UNAUTHORIZED => Err(unauthorized(&response)),
            _ => {
                let response = response.error_for_status()?;
                if content_type(&response) != EVENTS {
                    return Err(Failure::UnexpectedContentType(Some(content_type(&response))));
                }
                Ok(self.events(response))
            }
        }
    }
}

fn unexpected(what: String) -> Failure {
    Failure::UnexpectedServerResponse(Cow::Owned(what))
}

fn unauthorized(response: &Response) -> Failure {
    let challenge = response.headers().get(WWW_AUTHENTICATE).and_then(|challenge| challenge.to_str().ok()).unwrap_or_default();
    Failure::AuthRequired(AuthRequiredError::new(challenge.to_owned()))
}

/// The media type, without what stands behind it; empty where there is none.
fn content_type(response: &Response) -> String {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The body as text; `None`: it is longer.
async fn read_text(response: Response, most: usize) -> Result<Option<String>, Failure> {
    if response.content_length().is_some_and(|length| length > most as u64) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece?;
        if bytes.len() + piece.len() > most {
            return Ok(None);
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(Some(String::from_utf8(bytes).unwrap_or_else(|wrong| String::from_utf8_lossy(wrong.as_bytes()).into_owned())))
}

impl StreamableHttpClient for Web {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        // An answer of ours is on its way until the server has taken it: so many of them can be, and no more.
        let is_answer = matches!(message, ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_));
        let _taken = is_answer.then(|| Taken(self, &message));
        if !is_answer {
            locked(&self.0.open).note(&message);
        }
        self.noted(self.post(&uri, &message, session, headers).await)
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        _: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        // The limits here are our own.
        self.post_message(uri, message, session, token, headers).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failure> {
        self.0.client.delete_session(uri, session, token, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, Failure> {
        self.noted(self.get(&uri, session, last_event, headers).await)
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        _: usize,
    ) -> Result<Events, Failure> {
        self.get_stream(uri, session, last_event, token, headers).await
    }
}

/// Notes that an answer of ours was sent, when it has been, or never will be.
struct Taken<'a>(&'a Web, &'a ClientJsonRpcMessage);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        locked(&self.0.0.open).note(self.1);
    }
}
