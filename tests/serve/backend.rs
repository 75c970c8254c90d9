//! The library with a gateway as its backend.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use codemode::catalog::gateway::{Backend, BackendError};
use codemode::{CallState, Limit, RunLimits, RunRequest, Supervisor};
use codemode_protocol::gateway::RunName;
use codemode_protocol::{Decoder, FrameLimit};
use codemode_tests::rig;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::served::tool;

/// A gateway that listens, and answers one connection as it is told: `None` closes.
struct Listening {
    path: PathBuf,
    _folder: TempDir,
}

impl Listening {
    fn new(mut answer: impl FnMut(&Value) -> Option<Value> + Send + 'static) -> Listening {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("gateway.sock");
        let listener = UnixListener::bind(&path).expect("a socket");
        thread::spawn(move || {
            let (stream, _) = listener.accept().expect("somebody connects");
            converse(stream, &mut answer);
        });
        Listening { path, _folder: folder }
    }
}

fn converse(mut stream: UnixStream, answer: &mut impl FnMut(&Value) -> Option<Value>) {
    let mut decoder = Decoder::new(FrameLimit::LARGEST);
    loop {
        while let Some(frame) = decoder.next().expect("frames") {
            let message: Value = serde_json::from_str(frame.text()).expect("JSON");
            if message["id"].is_null() {
                continue;
            }
            let Some(rest) = answer(&message) else { return };
            let mut whole = json!({"jsonrpc": "2.0", "id": message["id"]});
            whole.as_object_mut().expect("an object").extend(rest.as_object().expect("an object").clone());
            let text = whole.to_string();
            stream.write_all(&[&(text.len() as u32).to_be_bytes()[..], text.as_bytes()].concat()).expect("it reads");
        }
        match stream.read(decoder.space()) {
            Ok(read @ 1..) => decoder.filled(read),
            _ => return,
        }
    }
}

fn hello(capabilities: &[&str]) -> Value {
    json!({"result": {"protocol": 1, "name": "gateway 1", "capabilities": capabilities, "frameBytes": 1 << 20, "runs": 0}})
}

fn name() -> RunName {
    RunName::new("run-7").expect("a name")
}

async fn run(supervisor: &Supervisor, backend: &Backend, body: &str) -> codemode::RunReport {
    let limits = RunLimits::default().with(Limit::WallMs, 30_000).expect("inside");
    supervisor.run(RunRequest::new(body).with_limits(limits), Arc::new(backend.catalog(name()))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_listens_is_the_backend_of_a_run() {
    let gateway = Listening::new(|message| {
        Some(match message["method"].as_str().expect("a request") {
            "hello" => {
                assert_eq!(message["params"]["capabilities"], json!([]));
                hello(&["catalog"])
            }
            "catalog.search" => json!({"result": [tool("add")]}),
            "catalog.describe" => {
                json!({"error": {"code": -32000, "message": "no such tool", "data": {"code": "unknown_tool", "name": "UnknownToolError", "toolId": "none"}}})
            }
            "catalog.call" => {
                assert_eq!(message["params"]["run"], "run-7");
                json!({"result": message["params"]["args"]["n"].as_u64().expect("a number") + 1})
            }
            other => panic!("{other}"),
        })
    });
    let backend = Backend::connect(&gateway.path).await.expect("it answers");
    let body = "const [t] = await openclaw.tools.search('add'); \
                return [await openclaw.tools.call(t.id, {n: 4}), await openclaw.tools.describe('none').catch(e => e.code)]";
    let report = run(&rig::supervisor(), &backend, body).await;
    assert_eq!(report.value.text(), r#"[5,"unknown_tool"]"#, "{report:?}");
    assert!(!backend.is_over());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_goes_in_a_call_leaves_one_error_and_an_unknown_outcome() {
    let gateway = Listening::new(|message| match message["method"].as_str().expect("a request") {
        "hello" => Some(hello(&["catalog"])),
        "catalog.describe" => Some(json!({"result": tool("add")})),
        _ => None,
    });
    let backend = Backend::connect(&gateway.path).await.expect("it answers");
    let body = "const f = e => [e.code, e.data]; return [await openclaw.tools.call('add', {}).catch(f), await openclaw.tools.search('x').catch(f)]";
    let report = run(&rig::supervisor(), &backend, body).await;
    assert_eq!(report.value.text(), r#"[["tool_unavailable",{"outcome":"unknown"}],["tool_unavailable",null]]"#, "{report:?}");
    let call = report.calls.iter().find(|call| call.method.as_str() == "call").expect("it was made");
    assert_eq!(call.state, CallState::Unknown, "nobody knows what became of it");
    assert!(backend.is_over());
}

#[tokio::test]
async fn what_is_no_backend_is_refused_by_name() {
    let connect = async |answer: Value| {
        let gateway = Listening::new(move |_| Some(answer.clone()));
        Backend::connect(&gateway.path).await.expect_err("it is none")
    };
    assert!(matches!(connect(hello(&["runs"])).await, BackendError::NoCatalog));
    let mut other = hello(&["catalog"]);
    other["result"]["protocol"] = json!(3);
    assert!(matches!(connect(other).await, BackendError::Version(3)));
    assert!(matches!(connect(json!({"result": "hi"})).await, BackendError::Unreadable(_)));
    assert!(matches!(connect(json!({"result": 1, "also": 2})).await, BackendError::Refused(_)), "no answer of this wire, so no connection");
    let gone = Listening::new(|_| None);
    assert!(matches!(Backend::connect(&gone.path).await.expect_err("it goes"), BackendError::Refused(_)));
    assert!(matches!(Backend::connect(&gone.path.join("x")).await.expect_err("nobody"), BackendError::Unreachable { .. }));
}
