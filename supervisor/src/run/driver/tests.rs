//! The loop against scripted children: what they say is written out byte by byte, so that they can say what no honest child would.

use std::time::Duration;

use async_trait::async_trait;
use codemode_protocol::{CallCode as WireCode, Decoder, FrameLimit, Limit, Seed, frame};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;

use super::*;
use crate::catalog::{CallCode, CallContext, CatalogSummary, FileCatalog, SearchQuery, Tool};
use crate::launch::{ExitStatus, LauncherKind};
use crate::run::ledger::CallState;
use crate::run::report::ErrorCode;

mod beginning;

/// A child of these tests: a task with one end of the socket pair. It is gone when its script is over.
struct Kid {
    stream: UnixStream,
    decoder: Decoder,
}

impl Kid {
    async fn say(&mut self, message: &Value) {
        self.bytes(&framed(message)).await;
    }

    /// A child that is not listened to any more goes on regardless.
    async fn bytes(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes).await;
    }

    async fn hello(&mut self) -> Value {
        self.say(&json!({"jsonrpc": "2.0", "method": "hello", "params": {"protocol": 1, "node": "v24.0.0"}})).await;
        self.hear().await
    }

    /// The next frame; `null` at end-of-file.
    async fn hear(&mut self) -> Value {
        loop {
            if let Some(frame) = self.decoder.next().unwrap() {
                return serde_json::from_str(frame.text()).unwrap();
            }
            match self.stream.read(self.decoder.space()).await {
                Ok(0) | Err(_) => return Value::Null,
                Ok(bytes) => self.decoder.filled(bytes),
            }
        }
    }

    async fn call(&mut self, id: u64, tool: &str, args: Value) {
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": "openclaw.tools.call", "params": {"id": tool, "args": args}})).await;
    }

    async fn answer(&mut self, value: Value) {
        self.say(&returned(value)).await;
    }
}

fn returned(value: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "result": {"value": value, "valueType": "object"}})
}

fn framed(message: &Value) -> Vec<u8> {
    frame::encode(message.to_string().as_bytes(), FrameLimit::new(64 * 1024 * 1024).unwrap()).unwrap()
}

#[derive(Debug)]
struct Fake {
    script: JoinHandle<ExitStatus>,
    status: Option<ExitStatus>,
    /// A task, which the kernel knows nothing of: what a test has it say.
    activity: Option<Activity>,
}

impl Process for Fake {
    async fn exited(&mut self) {
        if self.status.is_none() {
            self.status = Some((&mut self.script).await.unwrap());
        }
    }

    fn activity(&self) -> Option<Activity> {
        self.activity
    }

    fn cpu(&self) -> Option<Duration> {
        None
    }

    fn step_back(&self) {
        unreachable!("its processor time cannot be told");
    }

    async fn finish(self) -> Ended {
        self.script.abort();
        let status = self.status.unwrap_or(ExitStatus::Signaled(9));
        Ended { status, last_words: None, stderr_tail: String::new(), cpu: Duration::ZERO, peak_rss_bytes: 1 }
    }
}

fn demo() -> Arc<dyn Catalog> {
    let tools = json!([
        {"name": "echo", "description": "", "parameters": {"type": "object"}, "reply": {"echo": true}},
        {"name": "boom", "description": "", "parameters": {"type": "object"}, "reply": {"error": {"message": "boom"}}},
        {"name": "slow", "description": "", "parameters": {"type": "object"}, "reply": {"value": 1, "delayMs": 60000}},
        {"name": "big", "description": "", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}, "reply": {"repeat": "n"}},
    ]);
    Arc::new(FileCatalog::from_str(&tools.to_string(), "demo").unwrap())
}

/// A run at a 500 ms limit, unless its test has something else to say.
struct Stage {
    limits: RunLimits,
    catalog: Arc<dyn Catalog>,
    gate: Arc<Gate>,
    events: Option<mpsc::UnboundedSender<RunEvent>>,
    cancel: watch::Receiver<bool>,
    _sender: watch::Sender<bool>,
    activity: Option<Activity>,
    beginning: Option<Beginning>,
}

impl Stage {
    fn new() -> Self {
        let (sender, cancel) = watch::channel(false);
        Stage {
            limits: RunLimits::default(),
            catalog: demo(),
            gate: Arc::default(),
            events: None,
            cancel,
            _sender: sender,
            activity: None,
            beginning: None,
        }
    }

    /// With a clock that a test can wait for.
    fn short() -> Self {
        let limits = RunLimits::default().with(Limit::WallMs, 500).unwrap();
        Stage { limits, ..Stage::new() }
    }

    async fn play<F: Future<Output = ExitStatus> + Send + 'static>(self, script: impl FnOnce(Kid) -> F) -> RunReport {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let kid = Kid { stream: theirs, decoder: Decoder::new(self.limits.frame_limit()) };
        let process = Fake { script: tokio::spawn(script(kid)), status: None, activity: self.activity };
        let isolation = Isolation { launcher: LauncherKind::Spawn, node: "fake".into(), jit: false, walls: vec![] };
        let run = Run { body: "return 1".into(), seed: Seed::new([7; 16]), limits: self.limits.wire() };
        let setup = Setup {
            run,
            run_id: "test".into(),
            limits: self.limits,
            gate: self.gate,
            catalog: self.catalog,
            events: self.events,
            cancel: self.cancel,
        };
        let ready = Ready { stream: ours, process, isolation, beginning: self.beginning };
        let played = drive(setup, async { Ok(ready) });
        tokio::time::timeout(Duration::from_secs(20), played).await.expect("a run ends")
    }
}

fn code(report: &RunReport) -> Option<ErrorCode> {
    report.error.as_ref().map(|error| error.code)
}

const GONE: ExitStatus = ExitStatus::Exited(0);

#[tokio::test]
async fn a_value_comes_back_and_the_child_sees_end_of_file() {
    let report = Stage::new()
        .play(|mut kid| async move {
            let run = kid.hello().await;
            assert_eq!((&run["method"], &run["params"]["body"]), (&json!("run"), &json!("return 1")));
            kid.answer(json!({"a": 1})).await;
            assert_eq!(kid.hear().await, Value::Null);
            GONE
        })
        .await;
    assert!(report.ok, "{report:?}");
    assert_eq!(report.value.text(), r#"{"a":1}"#);
    assert_eq!(report.isolation.unwrap().node, "fake");
}

#[tokio::test]
async fn an_answer_written_just_before_the_exit_is_never_lost() {
    for _ in 0..50 {
        let report = Stage::new()
            .play(|mut kid| async move {
                kid.hello().await;
                kid.say(&json!({"jsonrpc": "2.0", "method": "console", "params": {"level": "log", "text": "last"}})).await;
                kid.answer(json!("x".repeat(60_000))).await;
                GONE
            })
            .await;
        assert!(report.ok, "{report:?}");
        assert_eq!((report.value.bytes(), report.logs.len()), (60_002, 1));
    }
}

#[tokio::test]
async fn frames_may_come_byte_by_byte() {
    let report = Stage::new()
        .play(|mut kid| async move {
            kid.hello().await;
            for byte in framed(&json!({"jsonrpc": "2.0", "method": "console", "params": {"level": "warn", "text": "— é 日本 😀"}})) {
                kid.bytes(&[byte]).await;
                tokio::task::yield_now().await;
            }
            kid.answer(json!(null)).await;
            GONE
        })
        .await;
    assert_eq!(report.logs[0].text, "— é 日本 😀");
}

#[tokio::test]
async fn calls_are_answered_with_values_and_errors() {
    let report = Stage::new()
        .play(|mut kid| async move {
            kid.hello().await;
            kid.call(1, "echo", json!({"n": 5})).await;
            assert_eq!(kid.hear().await["result"], json!({"n": 5}));
            kid.call(2, "boom", json!({})).await;
            let error = kid.hear().await["error"].clone();
            assert_eq!((&error["data"]["code"], &error["message"]), (&json!("tool_error"), &json!("boom")));
            kid.call(3, "nope", json!({})).await;
            assert_eq!(kid.hear().await["error"]["data"]["code"], "unknown_tool");
            kid.call(4, "big", json!({"n": 5_000_000})).await;
            assert_eq!(kid.hear().await["error"]["data"]["code"], "too_large");
            kid.answer(json!(null)).await;
            GONE
        })
        .await;
    assert!(report.ok, "{report:?}");
    let states: Vec<_> = report.calls.iter().map(|call| (call.state, call.code)).collect();
    assert_eq!(
        states,
        [
            (CallState::Ok, None),
            (CallState::Error, Some(CallCode::ToolError)),
            (CallState::Refused, Some(CallCode::UnknownTool)),
            (CallState::Error, Some(CallCode::TooLarge)),
        ]
    );
    assert_eq!(report.calls[0].id.as_deref(), Some("client:demo:echo"));
    assert_eq!((report.telemetry.call_count, report.telemetry.selected.len()), (4, 3));
}

#[tokio::test]
async fn a_silent_child_ends_at_the_deadline_with_its_sent_call_unknown() {
    let began = Instant::now();
    let report = Stage::short()
        .play(|mut kid| async move {
            kid.hello().await;
            kid.call(1, "slow", json!({})).await;
            std::future::pending().await
        })
        .await;
    assert_eq!(code(&report), Some(ErrorCode::Timeout));
    assert_eq!(report.calls[0].state, CallState::Unknown);
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(500) && took < Duration::from_millis(1500), "{took:?}");
}

#[tokio::test]
async fn the_wire_is_kept_to_the_letter() {
    let after_answer = [framed(&returned(json!(1))), framed(&returned(json!(2)))].concat();
    let half_a_frame_after = [framed(&returned(json!(1))), vec![0, 0]].concat();
    let unasked = framed(&json!({"jsonrpc": "2.0", "id": 7, "method": "openclaw.tools.describe", "params": {"id": "x"}}));
    for bytes in [vec![0, 0, 0, 0], vec![0xff; 8], b"\0\0\0\x02{}".to_vec(), after_answer, half_a_frame_after, unasked] {
        let shown = bytes.clone();
        let report = Stage::new()
            .play(|mut kid| async move {
                kid.hello().await;
                kid.bytes(&bytes).await;
                std::future::pending().await
            })
            .await;
        assert_eq!(code(&report), Some(ErrorCode::ProtocolViolation), "{shown:?}");
    }
}

#[tokio::test]
async fn an_exit_without_an_answer_says_how() {
    for (status, verdict) in [
        (ExitStatus::Signaled(31), ErrorCode::IsolationViolation),
        (ExitStatus::Signaled(24), ErrorCode::CpuLimit),
        (ExitStatus::Exited(134), ErrorCode::MemoryLimit),
        (ExitStatus::Exited(0), ErrorCode::ChildCrashed),
        (ExitStatus::Signaled(11), ErrorCode::ChildCrashed),
    ] {
        let report = Stage::new()
            .play(move |mut kid| async move {
                kid.hello().await;
                status
            })
            .await;
        assert_eq!(code(&report), Some(verdict), "{status:?}");
    }
}

#[tokio::test]
async fn half_a_frame_is_judged_by_the_end_that_follows() {
    for (status, verdict) in [(ExitStatus::Signaled(9), ErrorCode::ChildCrashed), (ExitStatus::Exited(0), ErrorCode::ProtocolViolation)] {
        let report = Stage::new()
            .play(move |mut kid| async move {
                kid.hello().await;
                kid.bytes(&[0, 0, 0, 9, b'{']).await;
                // A process that dies closes its descriptors first.
                drop(kid);
                tokio::time::sleep(Duration::from_millis(20)).await;
                status
            })
            .await;
        assert_eq!(code(&report), Some(verdict), "{:?}", report.error);
    }
}

#[tokio::test]
async fn a_flood_of_console_is_stopped_while_it_runs() {
    let mut stage = Stage::new();
    stage.limits = stage.limits.with(Limit::ConsoleFloodBytes, 1024 * 1024).and_then(|limits| limits.with(Limit::WallMs, 20_000)).unwrap();
    let report = stage
        .play(|mut kid| async move {
            kid.hello().await;
            loop {
                kid.say(&json!({"jsonrpc": "2.0", "method": "console", "params": {"level": "log", "text": "x".repeat(1000)}})).await;
            }
        })
        .await;
    assert_eq!(code(&report), Some(ErrorCode::OutputLimit));
    assert!(report.logs.iter().map(|entry| entry.text.len()).sum::<usize>() <= 64 * 1024);
}

#[tokio::test]
async fn a_child_that_asks_and_never_reads_holds_only_itself_up() {
    let mut stage = Stage::short();
    stage.limits = stage.limits.with(Limit::InFlight, 4).unwrap();
    let report = stage
        .play(|mut kid| async move {
            kid.hello().await;
            for id in 1..200 {
                kid.call(id, "big", json!({"n": 1_000_000})).await;
            }
            std::future::pending().await
        })
        .await;
    assert_eq!(code(&report), Some(ErrorCode::Timeout));
    // The socket takes a part of the first result, so at most one request beyond the cap is taken.
    assert!(report.calls.len() <= 5, "{} results were held", report.calls.len());
}

#[tokio::test]
async fn a_cancelled_run_and_a_dropped_handle_end_the_same_way() {
    for drop_it in [false, true] {
        let (sender, cancel) = watch::channel(false);
        let stage = Stage { cancel, ..Stage::new() };
        let (report, ()) = tokio::join!(
            stage.play(|mut kid| async move {
                kid.hello().await;
                std::future::pending().await
            }),
            async move {
                tokio::time::sleep(Duration::from_millis(50)).await;
                if !drop_it {
                    sender.send_replace(true);
                    sender.closed().await;
                }
            }
        );
        assert_eq!(code(&report), Some(ErrorCode::Cancelled));
        assert!(report.timing.total < Duration::from_millis(400));
    }
}

#[tokio::test]
async fn events_come_in_order_and_end_with_the_end() {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let stage = Stage { events: Some(sender), ..Stage::new() };
    stage
        .play(|mut kid| async move {
            kid.hello().await;
            kid.call(1, "echo", json!({})).await;
            kid.hear().await;
            kid.answer(json!(1)).await;
            GONE
        })
        .await;
    let mut names = Vec::new();
    while let Some(event) = receiver.recv().await {
        let event = serde_json::to_value(event).unwrap();
        names.push(event.get("step").unwrap_or(&event["event"]).as_str().unwrap().to_owned());
    }
    let before = ["started", "confined", "call_queued", "policy", "arguments", "hooks", "approval", "call_sent"];
    let after = ["call", "output", "redaction", "call_ended", "concluded", "ended"];
    assert_eq!(names, [&before[..], &after[..]].concat());
}

/// A backend that does what the name of the tool says.
#[derive(Debug)]
struct Hostile;

#[async_trait]
impl Catalog for Hostile {
    fn summary(&self) -> CatalogSummary {
        CatalogSummary::default()
    }

    async fn search(&self, _: &SearchQuery) -> Result<Vec<Arc<Tool>>, CallFailure> {
        panic!("search")
    }

    async fn describe(&self, id: &str) -> Result<Arc<Tool>, CallFailure> {
        Ok(Arc::new(Tool::new(crate::catalog::Source::Mcp, "hostile", id, "", json!({"type": "object"}))))
    }

    async fn call(&self, tool: &Arc<Tool>, _: Value, _: &CallContext) -> Result<Value, CallFailure> {
        match tool.name.as_str() {
            "block" => {
                std::thread::sleep(Duration::from_secs(3));
                Ok(Value::Null)
            }
            "deep" => Ok((0..200).fold(json!(1), |inner, _| json!([inner]))),
            "shout" => {
                Err(CallFailure::new(CallCode::ToolError, "t".repeat(1 << 20), "m".repeat(20 << 20)).with_data(json!("d".repeat(8 << 20))))
            }
            _ => panic!("call"),
        }
    }
}

#[tokio::test]
async fn a_backend_that_breaks_down_fails_its_call_and_not_the_run() {
    let stage = Stage { catalog: Arc::new(Hostile), ..Stage::new() };
    let report = stage
        .play(|mut kid| async move {
            kid.hello().await;
            for (id, tool, code) in [(1, "panic", "tool_error"), (2, "deep", "invalid_result"), (3, "shout", "tool_error")] {
                kid.call(id, tool, json!({})).await;
                assert_eq!(kid.hear().await["error"]["data"]["code"], code, "{tool}");
            }
            kid.say(&json!({"jsonrpc": "2.0", "id": 4, "method": "openclaw.tools.search", "params": {"query": "x"}})).await;
            assert_eq!(kid.hear().await["error"]["data"]["code"], "tool_error");
            kid.answer(json!(1)).await;
            GONE
        })
        .await;
    assert!(report.ok, "{report:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backend_that_blocks_its_thread_does_not_move_the_deadline() {
    let stage = Stage { catalog: Arc::new(Hostile), ..Stage::short() };
    let report = stage
        .play(|mut kid| async move {
            kid.hello().await;
            kid.call(1, "block", json!({})).await;
            std::future::pending().await
        })
        .await;
    assert_eq!(code(&report), Some(ErrorCode::Timeout));
    assert!(report.timing.total < Duration::from_millis(1500), "{:?}", report.timing);
}

#[test]
fn every_code_of_a_failure_is_a_word_of_the_wire() {
    for word in WireCode::ALL {
        let code: CallCode = serde_json::from_value(json!(word.as_str())).unwrap();
        assert_eq!(wire_error(CallFailure::new(code, "", ""), &RunLimits::default()).code, word);
    }
}
