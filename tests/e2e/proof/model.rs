//! A provider whose model knows what it wants: it takes whichever way to the tool it is shown, and keeps every request.

use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde_json::{Value, json};
use tiny_http::{Response, Server};

const NAME: &str = "lunar_tide_table";
const BODY: &str = "const [tool] = await openclaw.tools.search('times of high water from the moon');\n\
                    const { parameters } = await openclaw.tools.describe(tool.id);\n\
                    if (!parameters.properties.port) throw new Error('another tool');\n\
                    return await openclaw.tools.call(tool.id, { port: 'Bergen', days: 1 });";

/// The provider. It ends with this value.
pub(crate) struct Model {
    server: Arc<Server>,
    requests: Arc<Mutex<Vec<Vec<u8>>>>,
    thread: Option<JoinHandle<()>>,
}

impl Model {
    /// Listens on a port of its own.
    pub(crate) fn start() -> Model {
        let server = Arc::new(Server::http("127.0.0.1:0").unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let thread = std::thread::spawn({
            let (server, requests) = (Arc::clone(&server), Arc::clone(&requests));
            move || {
                for mut request in server.incoming_requests() {
                    assert_eq!(request.url(), "/v1/chat/completions");
                    let mut bytes = Vec::new();
                    request.as_reader().read_to_end(&mut bytes).unwrap();
                    let message = next(&serde_json::from_slice(&bytes).unwrap());
                    requests.lock().unwrap().push(bytes);
                    request.respond(Response::from_string(json!({"choices": [{"message": message}]}).to_string())).unwrap();
                }
            }
        });
        Model { server, requests, thread: Some(thread) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.server.server_addr())
    }

    /// What it was sent, byte for byte.
    pub(crate) fn requests(&self) -> Vec<Vec<u8>> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.server.unblock();
        if let Some(thread) = self.thread.take() {
            // A model that panicked has failed its test already: the gateway got no answer.
            let _ = thread.join();
        }
    }
}

/// The next message.
fn next(payload: &Value) -> Value {
    let messages = payload["messages"].as_array().unwrap();
    let answers: Vec<Value> = messages
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| serde_json::from_str(message["content"].as_str().unwrap()).unwrap())
        .collect();
    // A tool that echoes: the tide is there when the port comes back.
    if let Some(port) = answers.last().and_then(|answer| answer["port"].as_str().or_else(|| answer["value"]["port"].as_str())) {
        return json!({"role": "assistant", "content": format!("High water in {port} is known.")});
    }
    let names: Vec<&str> = payload["tools"].as_array().unwrap().iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
    let args = json!({"port": "Bergen", "days": 1});
    let listed = messages[0]["role"] == "system" && messages[0]["content"].as_str().unwrap().contains(&format!("- {NAME}"));
    if names.contains(&"tool_search_code") {
        return call("tool_search_code", json!({"code": BODY}));
    }
    if names.contains(&NAME) || listed {
        return call(NAME, args);
    }
    match answers.as_slice() {
        [] => call("tool_search", json!({"query": "times of high water from the moon"})),
        [rows] => call("tool_describe", json!({"id": rows[0]["id"]})),
        [_, tool] => call("tool_call", json!({"id": tool["id"], "args": args})),
        _ => json!({"role": "assistant", "content": format!("no tide: {answers:?}")}),
    }
}

fn call(name: &str, args: Value) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function", "function": {"name": name, "arguments": args.to_string()}}]})
}
