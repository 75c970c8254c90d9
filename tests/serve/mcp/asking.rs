//! Calls that a person has to approve: asked of the client by the protocol's elicitation.

use std::time::{Duration, Instant};

use codemode::RunLimits;
use codemode::catalog::Source;
use codemode::config::Config;
use codemode_protocol::Limit;
use codemode_tests::fake_source::FakeSource;
use serde_json::{Value, json};

use super::fresh::Client;
use super::lines::{Lines, PATIENCE, all_gone};
use super::web::Web;

const RULES: &str = "{approvals: {'demo:count': 'ask', 'demo:echo': 'ask'}}";
const COUNT: &str = "return openclaw.tools.call('demo:count', {})";

/// A client that can ask with forms, of a server with rules; more words besides.
struct Scene {
    lines: Lines,
    _folder: tempfile::TempDir,
}

fn scene(capabilities: Value, more: &[&str]) -> Scene {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let config = folder.path().join("codemode.json5");
    std::fs::write(&config, RULES).expect("it is ours");
    let words: Vec<&str> = ["--config", config.to_str().expect("a path")].iter().chain(more).copied().collect();
    let mut lines = Lines::start(&words);
    lines.initialize(capabilities);
    Scene { lines, _folder: folder }
}

fn asking() -> Value {
    json!({"elicitation": {}})
}

fn said(answer: &str) -> Value {
    json!({"action": "accept", "content": {"answer": answer}})
}

impl Scene {
    fn begin(&mut self, code: &str) -> Value {
        self.lines.ask("tools/call", json!({"name": "tool_search_code", "arguments": {"code": code}}))
    }

    /// The next question.
    fn question(&mut self) -> Value {
        let message = self.lines.next(PATIENCE).expect("a question");
        assert_eq!(message["method"], "elicitation/create", "{message}");
        message
    }

    fn reply(&mut self, question: &Value, result: Value) {
        self.lines.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
    }

    fn envelope(&mut self, id: &Value) -> Value {
        self.lines.answer(id)["result"]["structuredContent"].clone()
    }

    /// What comes of a body whose one question is answered so.
    fn answered(&mut self, code: &str, result: Value) -> Value {
        let id = self.begin(code);
        let question = self.question();
        self.reply(&question, result);
        self.envelope(&id)
    }
}

#[test]
fn a_yes_lets_the_call_go_and_says_what_goes() {
    let mut scene = scene(asking(), &[]);
    let id = scene.begin("return openclaw.tools.call('demo:echo', {path: '/etc/passwd'})");
    let question = scene.question();
    let message = question["params"]["message"].as_str().expect("a text");
    for part in ["    tool    demo:echo\n", "    source  client, demo\n", "    | {\"path\":\"/etc/passwd\"}\n", "(number 1) go?"] {
        assert!(message.contains(part), "{part:?} in {message}");
    }
    let schema = &question["params"]["requestedSchema"];
    assert_eq!((&schema["type"], &schema["required"]), (&json!("object"), &json!(["answer"])));
    assert_eq!(schema["properties"]["answer"]["enum"], json!(["no", "yes"]), "the first is the safe one");
    scene.reply(&question, said("yes"));
    assert_eq!(scene.envelope(&id)["value"], json!({"path": "/etc/passwd"}));
}

#[test]
fn the_clock_of_a_body_stands_while_a_person_thinks() {
    let mut scene = scene(asking(), &["--timeout", "700"]);
    let id = scene.begin(COUNT);
    let question = scene.question();
    std::thread::sleep(Duration::from_millis(1_500));
    scene.reply(&question, said("yes"));
    let envelope = scene.envelope(&id);
    assert_eq!((&envelope["ok"], &envelope["value"]), (&json!(true), &json!(1)), "{envelope}");
}

#[test]
fn a_no_in_any_form_is_a_refusal_and_the_tool_is_not_called() {
    let mut scene = scene(asking(), &[]);
    for no in
        [said("no"), json!({"action": "decline"}), json!({"action": "cancel"}), json!({"action": "decline", "content": {"answer": "yes"}})]
    {
        let envelope = scene.answered(COUNT, no.clone());
        assert_eq!(
            (&envelope["error"]["data"]["code"], &envelope["calls"][0]["state"]),
            (&envelope["calls"][0]["code"], &json!("denied")),
            "{envelope}"
        );
        assert_eq!(envelope["calls"][0]["code"], "approval_denied", "{no}: {envelope}");
    }
    assert_eq!(scene.answered(COUNT, said("yes"))["value"], 1, "none of them was called");
}

#[test]
fn what_is_no_answer_lets_nothing_go() {
    let mut scene = scene(asking(), &[]);
    let garbage = [
        json!({}),
        json!({"action": "accept"}),
        json!({"action": "accept", "content": {}}),
        json!({"action": "accept", "content": {"answer": true}}),
        json!({"action": "accept", "content": {"answer": "YES"}}),
        json!({"action": "accept", "content": {"answer": "yes", "answers": 1}}),
        json!({"action": "allow", "content": {"answer": "yes"}}),
        json!({"answer": "yes"}),
        json!({"roots": []}),
        json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "yes"}}),
        json!("yes"),
        json!([said("yes")]),
        Value::Null,
    ];
    for result in garbage {
        let envelope = scene.answered(COUNT, result.clone());
        assert_eq!(envelope["calls"][0]["code"], "approval_unavailable", "{result}: {envelope}");
    }
    let id = scene.begin(COUNT);
    let question = scene.question();
    scene.lines.send(&json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -32601, "message": "no\u{1b}[2J"}}));
    let envelope = scene.envelope(&id);
    assert_eq!(envelope["calls"][0]["code"], "approval_unavailable");
    assert!(envelope["error"]["message"].as_str().is_some_and(|text| text.contains("could not ask: no [2J")), "{envelope}");
    assert_eq!(scene.answered(COUNT, said("yes"))["value"], 1, "none of them was called");
}

#[test]
fn a_client_that_cannot_ask_is_not_asked_and_the_refusal_says_so() {
    for (capabilities, why) in [(json!({}), "did not say that it can ask a person"), (json!({"elicitation": {"url": {}}}), "no forms")] {
        let mut scene = scene(capabilities, &[]);
        let envelope = scene.lines.code(COUNT);
        assert_eq!(envelope["calls"][0]["code"], "approval_unavailable");
        assert!(envelope["error"]["message"].as_str().is_some_and(|text| text.contains(why)), "{envelope}");
        assert!(scene.lines.aside.is_empty(), "{:?}", scene.lines.aside);
    }
    let mut scene = scene(json!({"elicitation": {"form": {}, "url": {}}}), &[]);
    assert_eq!(scene.answered(COUNT, said("yes"))["value"], 1);
}

#[test]
fn a_client_that_goes_in_mid_question_takes_everything_with_it() {
    let mut scene = scene(asking(), &[]);
    scene.begin(COUNT);
    scene.question();
    let children = scene.lines.children();
    scene.lines.hang_up();
    let (status, took, stderr) = scene.lines.end();
    assert!(status.success() && took < Duration::from_secs(2), "{status:?} after {took:?}: {stderr}");
    all_gone(&children);
}

#[test]
fn a_cancelled_request_withdraws_its_question() {
    for (name, arguments, more) in
        [("tool_search_code", json!({"code": COUNT}), "code"), ("tool_call", json!({"id": "demo:count", "args": {}}), "tools")]
    {
        let mut scene = scene(asking(), &["--mode", more]);
        let id = scene.lines.ask("tools/call", json!({"name": name, "arguments": arguments}));
        let question = scene.question();
        scene.lines.notify("notifications/cancelled", json!({"requestId": id}));
        let notice = scene.lines.next(PATIENCE).expect("a notice");
        assert_eq!((&notice["method"], &notice["params"]["requestId"]), (&json!("notifications/cancelled"), &question["id"]), "{notice}");
        // An answer that comes all the same changes nothing.
        scene.reply(&question, said("yes"));
        scene.lines.request("ping", json!({}));
        assert!(!scene.lines.aside.iter().any(|message| message["id"] == id), "{:?}", scene.lines.aside);
    }
}

#[test]
fn two_bodies_at_once_have_each_its_own_question() {
    let mut scene = scene(asking(), &[]);
    let bodies = ["one", "other"].map(|name| (name, scene.begin(&format!("return openclaw.tools.call('demo:echo', {{name: '{name}'}})"))));
    let questions = [scene.question(), scene.question()];
    assert_ne!(questions[0]["id"], questions[1]["id"]);
    // The one that was asked last is answered first.
    for question in questions.iter().rev() {
        let is_one = question["params"]["message"].as_str().expect("a text").contains("\"one\"");
        scene.reply(question, said(if is_one { "yes" } else { "no" }));
    }
    let [one, other] = bodies.map(|(_, id)| scene.envelope(&id));
    assert_eq!(one["value"], json!({"name": "one"}), "{one}");
    assert_eq!(other["calls"][0]["code"], "approval_denied", "{other}");
}

#[test]
fn calls_of_one_body_are_asked_about_one_after_the_other() {
    let mut scene = scene(asking(), &[]);
    let id = scene.begin("return Promise.all([1, 2, 3].map((n) => openclaw.tools.call('demo:echo', {n})))");
    for n in 1..=3 {
        let question = scene.question();
        assert!(question["params"]["message"].as_str().expect("a text").contains(&format!("{{\"n\":{n}}}")), "{question}");
        assert!(scene.lines.next(Duration::from_millis(200)).is_none(), "one at a time");
        scene.reply(&question, said("yes"));
    }
    assert_eq!(scene.envelope(&id)["value"], json!([{"n": 1}, {"n": 2}, {"n": 3}]));
}

#[test]
fn arguments_cannot_pass_for_the_question() {
    let mut scene = scene(asking(), &[]);
    let id = scene.begin(
        r#"return openclaw.tools.call("demo:echo", {a: "x\n\nLet this call (number 7) go?\u001b[2J\u202e" + " ".repeat(5000) + "![x](http://h/)", ["\n    tool    demo:count"]: 1})"#,
    );
    let question = scene.question();
    let message = question["params"]["message"].as_str().expect("a text");
    let ours: Vec<&str> = message.lines().filter(|line| !line.starts_with("    ")).collect();
    assert!(
        matches!(ours[..], [first, "", "", "Let this call (number 1) go?"] if first.starts_with("A call needs your approval.")),
        "{message}"
    );
    assert_eq!(message.lines().filter(|line| line.starts_with("    tool  ")).count(), 1, "{message}");
    assert!(
        message.len() < 6_000 && message.chars().all(|letter| letter == '\n' || !(letter.is_control() || letter == '\u{202e}')),
        "{message}"
    );
    scene.reply(&question, said("no"));
    assert_eq!(scene.envelope(&id)["ok"], false);
}

#[test]
fn over_http_the_question_comes_with_the_answer_that_waits_for_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let config = folder.path().join("codemode.json5");
    std::fs::write(&config, RULES).expect("it is ours");
    let web = Web::start(&["--config", config.to_str().expect("a path")]);
    let mut client = web.client_that(asking());
    let (id, mut reply) = client.ask("tools/call", json!({"name": "tool_search_code", "arguments": {"code": COUNT}}));
    let question = reply.message("elicitation/create");
    assert_eq!(client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": said("yes")})).status, 202);
    let messages = reply.messages();
    let answer = messages.iter().find(|message| message["id"] == id).expect("an answer");
    assert_eq!(answer["result"]["structuredContent"]["value"], 1, "{answer}");
}

#[tokio::test]
async fn an_answer_after_the_limit_comes_too_late_and_the_next_question_is_asked() {
    let source = FakeSource::new(Source::Mcp, "files", &["write_file"]);
    let config = Config::from_bytes(b"{approvals: {'mcp:files:*': 'ask'}}", "rules").expect("a configuration");
    let limits = RunLimits::default().with(Limit::ApprovalMs, 300).expect("in bounds");
    let mut client = Client::with(&[std::sync::Arc::clone(&source)], config, limits, asking()).await;
    let call = |id: u64, n: u64| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "tool_call", "arguments": {"id": "mcp:files:write_file", "args": {"n": n}}}});
    client.send(&call(1, 1)).await;
    let question = client.next().await;
    assert_eq!(question["method"], "elicitation/create");
    let began = Instant::now();
    let mut seen = [client.next().await, client.next().await];
    assert!(began.elapsed() < Duration::from_secs(10));
    // Which of the two comes first is nobody's business.
    seen.sort_by_key(|message| message["method"].is_null());
    let [notice, answer] = seen;
    assert_eq!((&notice["method"], &notice["params"]["requestId"]), (&json!("notifications/cancelled"), &question["id"]));
    assert_eq!(answer["result"]["structuredContent"]["error"]["code"], "approval_timeout", "{answer}");
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": said("yes")})).await;

    client.send(&call(2, 2)).await;
    let question = client.next().await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": said("yes")})).await;
    assert_eq!(client.next().await["result"]["isError"], false);
    assert_eq!(source.calls(), [("write_file".to_owned(), json!({"n": 2}))]);
}
