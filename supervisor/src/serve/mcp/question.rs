//! Questions to the person at a client, by the protocol's elicitation: may this call go?
//!
//! A run puts its questions wherever it goes on; what is asked of a client belongs to the request for which it is asked, and has to go out from there. So questions come
//! over a channel to whoever answers the request.

use std::convert::Infallible;

use async_trait::async_trait;
use rmcp::RoleServer;
use rmcp::model::{CustomRequest, ServerRequest};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext, RequestHandle, ServiceError};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Duration, timeout};

use crate::catalog::cleaned_line;
use crate::gate::{ApprovalAnswer, ApprovalRequest, Approver, ShownCall};

/// How long the notice that a question is withdrawn may wait to be written.
const NOTICE_LIMIT: Duration = Duration::from_secs(1);
/// Characters of a client's words in a reason.
const WORDS_CHARS: usize = 200;
/// The one thing that is asked for, and its two values.
const ANSWER: &str = "answer";
const YES: &str = "yes";
const NO: &str = "no";

/// Asks the person at the client of one request.
#[derive(Debug)]
pub(super) struct AtClient {
    questions: Result<mpsc::Sender<Put>, &'static str>,
}

/// A question that wants an answer. The sender is closed when nobody waits for it any more.
#[derive(Debug)]
struct Put {
    question: ApprovalRequest,
    answer: oneshot::Sender<ApprovalAnswer>,
}

/// The questions of one request.
#[derive(Debug)]
pub(super) struct Questions(mpsc::Receiver<Put>);

/// Whom the gate asks for this request, and the questions that will come of it.
pub(super) fn of(context: &RequestContext<RoleServer>) -> (AtClient, Questions) {
    // The gate lets one question of a run be open at a time.
    let (send, receive) = mpsc::channel(1);
    (AtClient { questions: can_ask(context).map(|()| send) }, Questions(receive))
}

/// Whether there may be a person at this client; why not.
fn can_ask(context: &RequestContext<RoleServer>) -> Result<(), &'static str> {
    if context.meta.protocol_version().is_some() {
        return Err("a client that speaks without a session cannot be asked while a call goes on");
    }
    let declared = context.peer.peer_info().and_then(|client| client.capabilities.elicitation.clone());
    match declared {
        // An empty capability is that of forms.
        Some(elicitation) if elicitation.form.is_some() || elicitation.url.is_none() => Ok(()),
        Some(_) => Err("the MCP client shows addresses to its person and no forms (its `elicitation` has no `form`)"),
        None => Err("the MCP client did not say that it can ask a person (the capability `elicitation`)"),
    }
}

#[async_trait]
impl Approver for AtClient {
    async fn ask(&self, question: &ApprovalRequest) -> ApprovalAnswer {
        let unavailable = |reason: &str| ApprovalAnswer::Unavailable { reason: reason.to_owned() };
        let gone = || unavailable("the request is over");
        match &self.questions {
            Ok(questions) => {
                let (answer, answered) = oneshot::channel();
                match questions.send(Put { question: question.clone(), answer }).await {
                    Ok(()) => answered.await.unwrap_or_else(|_| gone()),
                    Err(_) => gone(),
                }
            }
            Err(why) => unavailable(why),
        }
    }
}

impl Questions {
    /// Puts each to the client, one after the other, for as long as this is waited for.
    pub(super) async fn put(mut self, client: &Peer<RoleServer>) -> Infallible {
        while let Some(Put { question, mut answer }) = self.0.recv().await {
            let asked = tokio::select! {
                asked = ask(client, &question) => asked,
                // Withdrawn: the time is over, or the run.
                () = answer.closed() => continue,
            };
            // Whoever asked may be gone by now.
            let _ = answer.send(asked);
        }
        std::future::pending().await
    }
}

async fn ask(client: &Peer<RoleServer>, question: &ApprovalRequest) -> ApprovalAnswer {
    let unavailable = |reason: String| ApprovalAnswer::Unavailable { reason };
    let request = ServerRequest::CustomRequest(CustomRequest::new("elicitation/create", Some(params(question))));
    let mut open = match client.send_cancellable_request(request, PeerRequestOptions::no_options()).await {
        Ok(handle) => Open(Some(handle)),
        Err(_) => return unavailable("the client is gone".to_owned()),
    };
    let answer = match &mut open.0 {
        Some(handle) => (&mut handle.rx).await.unwrap_or(Err(ServiceError::TransportClosed)),
        None => Err(ServiceError::TransportClosed),
    };
    open.0 = None;
    match answer {
        Ok(result) => understood(&serde_json::to_value(result).unwrap_or_default()),
        Err(ServiceError::McpError(error)) => {
            unavailable(format!("the client could not ask: {}", cleaned_line(&error.message, WORDS_CHARS)))
        }
        Err(_) => unavailable("the client is gone".to_owned()),
    }
}

/// What a client's answer means. Whatever is not exactly a yes lets nothing go.
fn understood(answer: &Value) -> ApprovalAnswer {
    let refused = |reason: &str| ApprovalAnswer::Refused { reason: Some(reason.to_owned()) };
    let chosen = || {
        let content = answer["content"].as_object().filter(|content| content.len() == 1)?;
        content.get(ANSWER)?.as_str()
    };
    match (answer["action"].as_str(), chosen()) {
        (Some("accept"), Some(YES)) => ApprovalAnswer::Granted,
        (Some("accept"), Some(NO)) => refused("the person at the client said no"),
        (Some("decline"), _) => refused("the person at the client declined"),
        (Some("cancel"), _) => refused("the person at the client closed the question without an answer"),
        _ => ApprovalAnswer::Unavailable { reason: "the client's answer to the question is none".to_owned() },
    }
}

/// The words of the question, and what may be answered.
fn params(question: &ApprovalRequest) -> Value {
    json!({
        "message": wording(question),
        "requestedSchema": {
            "type": "object",
            "properties": {
                ANSWER: {
                    "type": "string",
                    "title": "Let this call go?",
                    "description": "yes: it goes, this once. no: it is refused.",
                    "enum": [NO, YES],
                },
            },
            "required": [ANSWER],
        },
    })
}

/// All that a stranger wrote stands in rows that are set in: clients that read Markdown take that for text in which nothing is marked up, and no row of it can begin as
/// ours do.
fn wording(question: &ApprovalRequest) -> String {
    let shown = ShownCall::of(question);
    let name = |rows: &[String]| rows.join("\n    | ");
    let args: String = shown.args.iter().map(|row| format!("    | {row}\n")).collect();
    format!(
        "A call needs your approval. What is set in was written by the program that makes it, not by codemode.\n\n    tool    {}\n    source  {}, {}\n             args\n{args}\nLet this call (number {}) go?",
        name(&shown.tool),
        question.tool.source.as_str(),
        name(&shown.source_name),
        question.seq,
    )
}

/// A question that is open; withdrawn when it is dropped.
struct Open(Option<RequestHandle<RoleServer>>);

impl Drop for Open {
    fn drop(&mut self) {
        // Where no runtime is left there is nobody to tell either.
        if let Some(handle) = self.0.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move {
                let _ = timeout(NOTICE_LIMIT, handle.cancel(Some("nobody waits for an answer any more".to_owned()))).await;
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::catalog::{Source, Tool};

    #[test]
    fn nothing_but_a_yes_is_one() {
        let granted = |answer: Value| understood(&answer) == ApprovalAnswer::Granted;
        assert!(granted(json!({"action": "accept", "content": {"answer": "yes"}})));
        for content in [
            json!({"answer": "no"}),
            json!({"answer": "Yes"}),
            json!({"answer": "yes "}),
            json!({"answer": true}),
            json!({"answer": ["yes"]}),
            json!({"answer": "yes", "more": 1}),
            json!({"other": "yes"}),
            json!({}),
            json!("yes"),
            json!(["yes"]),
            Value::Null,
        ] {
            assert!(!granted(json!({"action": "accept", "content": content})), "{content}");
        }
        for action in [json!("decline"), json!("cancel"), json!("Accept"), json!(true), Value::Null] {
            assert!(!granted(json!({"action": action, "content": {"answer": "yes"}})), "{action}");
        }
        assert!(!granted(json!({"content": {"answer": "yes"}})));
        assert!(!granted(json!("accept")));
    }

    #[test]
    fn a_no_is_a_refusal_and_garbage_is_not_the_persons() {
        let is_refusal = |answer: Value| matches!(understood(&answer), ApprovalAnswer::Refused { .. });
        assert!(is_refusal(json!({"action": "accept", "content": {"answer": "no"}})));
        assert!(is_refusal(json!({"action": "decline"})) && is_refusal(json!({"action": "cancel"})));
        assert!(!is_refusal(json!({"action": "accept"})) && !is_refusal(json!({})));
    }

    #[test]
    fn what_a_stranger_writes_is_set_in_and_nothing_of_it_stands_where_we_speak() {
        let forged = "\n\nLet this call (number 9) go?\r\u{1b}[2J\u{202e} ![x](http://h/) <b>";
        for filler in ["", " ", "x", "\u{3164}", "日"] {
            for many in [0, 9, 53, 80, 5_000] {
                let text = format!("{}{forged}", filler.repeat(many));
                let tool = Arc::new(Tool::new(Source::Mcp, text.clone(), "read", "", json!({})).with_id(format!("mcp:{text}")));
                let args = Arc::new(json!({text.clone(): text.repeat(2)}));
                let asked = wording(&ApprovalRequest { tool, args, run_id: "r".into(), seq: 3 });
                assert!(asked.chars().all(|letter| letter == '\n' || !crate::catalog::is_unfit(letter)), "{asked:?}");
                let lines: Vec<&str> = asked.split('\n').collect();
                let ours = lines.iter().filter(|line| !line.starts_with("    ")).collect::<Vec<_>>();
                assert!(
                    matches!(ours[..], [&first, &"", &"", &"Let this call (number 3) go?"] if first.starts_with("A call needs")),
                    "{asked}"
                );
                assert!(lines.len() < 60 && asked.len() < 6_000, "{asked}");
            }
        }
    }
}
