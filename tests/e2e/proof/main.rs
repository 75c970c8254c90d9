//! The whole way: a plug-in with a large catalog, a gateway, and a provider over HTTP that keeps what it is sent. Once directly, once in each mode.
//!
//! `cargo test -p codemode-tests --test proof -- --nocapture` prints the figures.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../../supervisor/examples/gateway/gateway.rs"]
mod gateway;
mod model;
#[path = "../../../supervisor/examples/gateway/provider.rs"]
mod provider;

use std::path::Path;
use std::sync::Arc;

use codemode::catalog::FileCatalog;
use codemode::config::Config;
use codemode::telemetry::{History, SessionLog};
use gateway::Gateway;
use model::Model;
use provider::Provider;
use serde_json::{Value, json};

const TARGET: &str = "plugin:almanac:lunar_tide_table";
const PROMPT: &str = "When is high water in Bergen tomorrow, by the moon?";
const TOOLS: usize = 400;

/// A catalog such as plug-ins bring: names of verbs and nouns, a paragraph of description, a schema with a handful of fields.
fn plugin(folder: &Path) {
    const VERBS: [&str; 10] = ["create", "list", "get", "update", "delete", "archive", "export", "share", "merge", "watch"];
    const NOUNS: [&str; 40] = [
        "invoice",
        "ticket",
        "calendar",
        "contact",
        "repository",
        "branch",
        "deployment",
        "alert",
        "dashboard",
        "metric",
        "customer",
        "order",
        "shipment",
        "refund",
        "campaign",
        "segment",
        "survey",
        "webhook",
        "secret_store",
        "bucket",
        "queue",
        "function",
        "database",
        "backup",
        "certificate",
        "domain",
        "mailbox",
        "thread",
        "channel",
        "meeting",
        "recording",
        "transcript",
        "document",
        "template",
        "folder",
        "permission",
        "role",
        "policy",
        "budget",
        "report",
    ];
    let mut tools: Vec<Value> = VERBS.iter().flat_map(|verb| NOUNS.iter().map(move |noun| tool(verb, noun))).collect();
    tools.truncate(TOOLS - 1);
    tools.push(json!({
        "source": "plugin", "sourceName": "almanac", "name": "lunar_tide_table",
        "description": "Times of high and low water at a port, computed from the phase of the moon.",
        "parameters": {"type": "object", "properties": {"port": {"type": "string"}, "days": {"type": "integer"}}, "required": ["port"], "additionalProperties": false},
        "reply": {"echo": true},
    }));
    std::fs::write(folder.join("tools.json"), Value::from(tools).to_string()).unwrap();
}

fn tool(verb: &str, noun: &str) -> Value {
    let shown = noun.replace('_', " ");
    json!({
        "source": "plugin", "sourceName": "almanac", "name": format!("{verb}_{noun}"),
        "description": format!("Use this to {verb} a {shown}. Needs the workspace that the {shown} belongs to; returns the {shown} as it is afterwards, with its history."),
        "parameters": {
            "type": "object", "required": ["workspace"], "additionalProperties": false,
            "properties": {
                "workspace": {"type": "string", "description": "Id of the workspace."},
                "id": {"type": "string", "description": format!("Id of the {shown}.")},
                "fields": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Fields to set."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100},
                "dryRun": {"type": "boolean"},
            },
        },
        "reply": {"value": "wrong tool"},
    })
}

/// What one turn left behind.
struct Turn {
    mode: &'static str,
    answer: String,
    called: Vec<(String, Value)>,
    payloads: Vec<Value>,
    first_bytes: usize,
    all_bytes: usize,
    history: History,
    log: String,
}

impl Turn {
    /// Names of the tools that the provider was told of, at the start.
    fn names(&self) -> Vec<&str> {
        self.payloads[0]["tools"].as_array().unwrap().iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect()
    }

    fn counts(&self) -> [usize; 3] {
        ["search", "describe", "call"].map(|method| self.history.count(method))
    }
}

async fn turn(mode: &'static str) -> Turn {
    let folder = tempfile::tempdir().unwrap();
    let plugin_folder = folder.path().join("almanac");
    std::fs::create_dir(&plugin_folder).unwrap();
    plugin(&plugin_folder);
    let config = match mode {
        "direct" => "{}".to_owned(),
        mode => format!("{{tools: {{toolSearch: {{mode: '{mode}', directorySchemas: 0}}}}}}"),
    };
    let model = Model::start();
    let log = folder.path().join("session.jsonl");
    let config = Config::from_bytes(config.as_bytes(), "c").unwrap();
    let gateway = Gateway::new(config, Provider::new(model.url())).with_log(Arc::new(SessionLog::open(&log).unwrap()));
    let tools: Arc<FileCatalog> = gateway.add_plugin(&plugin_folder).unwrap();
    assert_eq!(tools.tools().tools().len(), TOOLS);
    let answer = gateway.turn("proof", PROMPT).await.unwrap();
    // For whoever wants to look at the report of such a log.
    if let Some(keep) = std::env::var_os("CODEMODE_KEEP_LOGS") {
        std::fs::copy(&log, std::path::Path::new(&keep).join(format!("{mode}.jsonl"))).expect("CODEMODE_KEEP_LOGS is a folder");
    }
    let requests = model.requests();
    let payloads: Vec<Value> = requests.iter().map(|request| serde_json::from_slice(request).unwrap()).collect();
    Turn {
        mode,
        answer,
        called: tools.dispatched().into_iter().map(|call| (call.tool_id, call.args.unwrap_or_default())).collect(),
        first_bytes: requests[0].len(),
        all_bytes: requests.iter().map(Vec::len).sum(),
        payloads,
        history: History::open(&log).unwrap(),
        log: std::fs::read_to_string(&log).unwrap(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_tool_is_called_in_every_mode_and_compact_modes_send_less() {
    let [direct, code, tools, directory] = [turn("direct").await, turn("code").await, turn("tools").await, turn("directory").await];
    let args = json!({"port": "Bergen", "days": 1});

    assert_eq!(direct.called, [(TARGET.to_owned(), args.clone())]);
    println!("\n1. direct exposure calls the plug-in's tool: {} {}", direct.called[0].0, direct.called[0].1);

    for other in [&code, &tools, &directory] {
        assert_eq!(other.called, direct.called, "{}", other.mode);
        assert_eq!(other.answer, direct.answer, "{}", other.mode);
    }
    println!("2. code, tools and directory call the same tool with the same arguments, and the model says the same");

    assert_eq!(direct.names().len(), TOOLS);
    assert!(direct.names().contains(&"lunar_tide_table"));
    println!("3. direct exposure shows the provider {} schemas", direct.names().len());

    assert_eq!(code.names(), ["tool_search_code"]);
    let first = code.payloads[0].to_string();
    assert!(!first.contains("lunar_tide_table") && !first.contains("create_invoice"));
    assert_eq!(tools.names(), ["tool_search", "tool_describe", "tool_call"]);
    assert_eq!(directory.names(), ["tool_search", "tool_describe", "tool_call"], "the tool was hidden, and hydrated by its exact name");
    println!("4. code shows it only {:?}; tools {:?}", code.names(), tools.names());

    println!("5. request payloads, in bytes:\n   {:<10} {:>9} {:>8} {:>12} {:>8}", "mode", "first", "saved", "whole turn", "saved");
    for turn in [&direct, &code, &tools, &directory] {
        let saved = |bytes: usize, of: usize| 100.0 * (1.0 - bytes as f64 / of as f64);
        println!(
            "   {:<10} {:>9} {:>7.1}% {:>12} {:>7.1}%",
            turn.mode,
            turn.first_bytes,
            saved(turn.first_bytes, direct.first_bytes),
            turn.all_bytes,
            saved(turn.all_bytes, direct.all_bytes)
        );
    }
    for other in [&code, &tools, &directory] {
        assert!(other.first_bytes < direct.first_bytes && other.all_bytes < direct.all_bytes, "{}", other.mode);
    }
    assert!(code.first_bytes * 20 < direct.first_bytes, "{} of {}", code.first_bytes, direct.first_bytes);

    println!("6. session logs:\n   {:<10} {:>8} {:>8} {:>10} {:>6}  final call", "mode", "schemas", "search", "describe", "call");
    for (turn, schemas, counts) in
        [(&direct, TOOLS as u64, [0, 0, 1]), (&code, 0, [1, 1, 1]), (&tools, 0, [1, 1, 1]), (&directory, 0, [0, 0, 1])]
    {
        let surface = &turn.history.surfaces[0];
        assert_eq!((surface.shown.as_str(), surface.schemas_up_front, turn.counts()), (turn.mode, schemas, counts));
        let last = turn.history.final_call().unwrap();
        assert_eq!((last.id.as_deref(), last.source.as_deref(), turn.history.unreadable), (Some(TARGET), Some("plugin"), 0));
        println!(
            "   {:<10} {:>8} {:>8} {:>10} {:>6}  {}",
            turn.mode,
            schemas,
            counts[0],
            counts[1],
            counts[2],
            last.id.as_deref().unwrap()
        );
        // What the log says of sizes is what the provider got.
        let defined: Vec<&Value> = turn.payloads[0]["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]).collect();
        let text = serde_json::to_string(&defined).unwrap().len() + directory_text(&turn.payloads[0]).len();
        assert_eq!(surface.bytes_sent, text as u64, "{}", turn.mode);
    }
    // The body's calls went over the bridge: the log has its run, and each step of the gate once.
    let run = &code.history.runs[0];
    assert_eq!((run.is_body, run.verdict.as_deref(), code.history.runs.len()), (true, Some("ok"), 1));
    assert_eq!(steps(&code.log), ["policy", "arguments", "hooks", "approval", "call", "output", "redaction"]);
    assert!(!tools.history.runs[0].is_body);
    assert_eq!(steps(&tools.log), steps(&code.log), "one gate, whoever asks");
}

fn directory_text(payload: &Value) -> &str {
    let first = &payload["messages"][0];
    if first["role"] == "system" { first["content"].as_str().unwrap() } else { "" }
}

fn steps(log: &str) -> Vec<String> {
    let events = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter(|event| event["event"] == "gate").map(|event| event["step"].as_str().unwrap().to_owned()).collect()
}
