//! Sessions without a transport: what whoever brings another one builds on.

use std::time::Duration;

use codemode::catalog::gateway::Outgoing;
use codemode::serve::session::{Host, HostLimits, Session};
use codemode_protocol::gateway::GoodbyeCode;
use codemode_tests::census::{children_of, own_pid};
use codemode_tests::{patience, rig};
use serde_json::{Value, json};

/// Longer than any message of these tests takes, on a machine that is busy with others.
const SOON: Duration = Duration::from_secs(20);

/// A gateway in the same process.
struct Gateway {
    session: Session,
    outgoing: Outgoing,
    asked: u64,
    /// Messages that came while another was waited for: what is told and what is asked have no order among each other.
    kept: Vec<Value>,
}

impl Gateway {
    fn of(host: &Host) -> Gateway {
        let (session, outgoing) = Session::open(host);
        Gateway { session, outgoing, asked: 0, kept: Vec::new() }
    }

    async fn greeted(host: &Host) -> Gateway {
        let mut gateway = Gateway::of(host);
        gateway.ask("hello", json!({"protocol": 1, "name": "test", "capabilities": ["catalog", "approvals", "hooks"]})).await;
        assert_eq!(gateway.heard().await["result"]["capabilities"], json!(["runs"]));
        gateway
    }

    async fn say(&mut self, message: &Value) {
        self.session.receive(&message.to_string()).await.expect("the session goes on");
    }

    async fn ask(&mut self, method: &str, params: Value) {
        self.asked += 1;
        self.say(&json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params})).await;
    }

    async fn answer(&mut self, to: &Value, result: Value) {
        self.say(&json!({"jsonrpc": "2.0", "id": to["id"], "result": result})).await;
    }

    async fn heard(&mut self) -> Value {
        let departure = tokio::time::timeout(SOON, self.outgoing.next()).await.expect("soon").expect("the session says something");
        serde_json::from_slice(departure.text()).expect("JSON")
    }

    /// The next message with this method.
    async fn until(&mut self, method: &str) -> Value {
        if let Some(at) = self.kept.iter().position(|message| message["method"] == method) {
            return self.kept.remove(at);
        }
        loop {
            let message = self.heard().await;
            if message["method"] == method {
                return message;
            }
            assert!(message["error"].is_null() && message["method"] != "run.finished", "{message}");
            self.kept.push(message);
        }
    }
}

fn host(at_once: usize) -> Host {
    Host::new(rig::supervisor(), HostLimits { at_once, ..HostLimits::default() })
}

fn tool() -> Value {
    json!({"source": "mcp", "sourceName": "demo", "name": "echo", "description": "Echoes.", "parameters": {"type": "object"}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_a_gateway_asks_it_for_everything_and_reports() {
    let host = host(2);
    let mut gateway = Gateway::greeted(&host).await;
    let body = "const [t] = await openclaw.tools.search('echo', {limit: 1}); console.log(t.id); return openclaw.tools.call(t.id, {a: 1})";
    let wants = json!({"logs": true, "calls": true, "hooks": true, "approvals": true});
    gateway
        .ask(
            "run.start",
            json!({"run": "r", "body": body, "catalog": "gateway", "approvals": {"*": "ask"}, "wants": wants, "limits": {"wallMs": 60000}}),
        )
        .await;
    let search = gateway.until("catalog.search").await;
    assert_eq!(search["params"], json!({"run": "r", "query": "echo", "limit": 1}));
    gateway.answer(&search, json!([tool()])).await;
    assert_eq!(gateway.until("run.log").await["params"], json!({"run": "r", "level": "log", "text": "mcp:demo:echo"}));
    let hook = gateway.until("hook.beforeToolCall").await;
    assert_eq!(hook["params"]["args"], json!({"a": 1}));
    gateway.answer(&hook, json!({"decision": "allow", "args": {"a": 2}})).await;
    let approval = gateway.until("approval.request").await;
    assert_eq!(approval["params"]["args"], json!({"a": 2}), "whoever comes after a hook sees what it left");
    gateway.answer(&approval, json!({"answer": "granted"})).await;
    // The tool was found, so it is not described again.
    let call = gateway.until("catalog.call").await;
    assert_eq!(call["params"], json!({"run": "r", "seq": 2, "id": "mcp:demo:echo", "args": {"a": 2}}));
    gateway.answer(&call, json!({"said": 2})).await;
    let finished = gateway.until("run.finished").await;
    let report = &finished["params"]["report"];
    assert_eq!((&report["ok"], &report["value"]), (&json!(true), &json!({"said": 2})), "{report}");
    assert_eq!(report["calls"][1]["rewrittenBy"], json!(["gateway"]));
    gateway.session.close(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_a_session_cancels_its_runs_and_reaps_their_children() {
    let host = host(4);
    let mut gateway = Gateway::greeted(&host).await;
    let mut other = Gateway::greeted(&host).await;
    for run in ["a", "b", "c"] {
        gateway.ask("run.start", json!({"run": run, "body": "return openclaw.tools.call('x', {})", "catalog": "gateway"})).await;
        gateway.until("catalog.describe").await;
    }
    other.ask("run.start", json!({"run": "a", "body": "return openclaw.tools.search('x')", "catalog": "gateway"})).await;
    let search = other.until("catalog.search").await;
    tokio::time::timeout(SOON, gateway.session.close(None)).await.expect("the children are killed, not waited for");
    other.answer(&search, json!([])).await;
    let finished = other.until("run.finished").await;
    assert_eq!(finished["params"]["report"]["value"], json!([]), "another gateway's run goes on");
    other.session.close(None).await;
    drop(host);
    // The servers of other tests are children of this process, too.
    let is_node = |pid: &i32| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim_end() != "codemode");
    patience::until("no child is left", SOON, || !children_of(own_pid()).iter().any(is_node)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_message_ends_the_session_by_name() {
    let host = host(1);
    let mut gateway = Gateway::greeted(&host).await;
    gateway.ask("run.start", json!({"run": "r", "body": "return openclaw.tools.search('x')", "catalog": "gateway"})).await;
    gateway.until("catalog.search").await;
    let goodbye = gateway.session.receive(r#"{"jsonrpc":"2.0","id":77,"result":[]}"#).await.expect_err("nobody asked 77");
    assert_eq!((goodbye.code, goodbye.message.as_str()), (GoodbyeCode::ProtocolViolation, "unasked (id)"));
    gateway.session.close(Some(goodbye)).await;
    // What was told before, the start of the run for one, may still be on its way; nothing comes behind the goodbye.
    let mut last = Value::Null;
    while let Some(departure) = tokio::time::timeout(SOON, gateway.outgoing.next()).await.expect("soon") {
        last = serde_json::from_slice(departure.text()).expect("JSON");
    }
    assert_eq!((&last["method"], &last["params"]["code"]), (&json!("goodbye"), &json!("protocol_violation")), "{last}");
}
