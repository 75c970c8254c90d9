//! What a model is shown, mode by mode.

use std::collections::HashSet;
use std::sync::Arc;

use codemode::catalog::{CallCode, RunContext, Source, Tool};
use codemode::modes::{Control, PlanRequest, Shown, Target};
use codemode_tests::fake_source::FakeSource;
use serde_json::json;

use super::{Gateway, MODES, agent, in_mode, names};

const ALL: [&str; 8] = ["read_file", "exec", "current_weather", "weather_forecast", "send_email", "list_mails", "delete_email", "open_tab"];

#[tokio::test]
async fn each_mode_shows_its_controls_and_nothing_else() {
    let gateway = Gateway::new();
    let code = gateway.plan(&in_mode("code")).await;
    assert_eq!((code.surface.shown, names(&code)), (Shown::Code, vec!["tool_search_code"]));
    let tools = gateway.plan(&in_mode("tools")).await;
    assert_eq!((tools.surface.shown, names(&tools)), (Shown::Tools, vec!["tool_search", "tool_describe", "tool_call"]));
    let directory = gateway.plan(&in_mode("directory")).await;
    assert_eq!(names(&directory), ["tool_search", "tool_describe", "tool_call", "open_tab"]);
    assert!(code.surface.directory.is_none() && tools.surface.directory.is_none() && directory.surface.directory.is_some());
    assert_eq!([&code, &tools].map(|plan| plan.surface.schemas_up_front()), [0, 0]);
}

#[tokio::test]
async fn without_tool_search_every_tool_is_shown_with_its_schema() {
    let gateway = Gateway::new();
    for config in ["{}", "{tools: {toolSearch: false}}"] {
        let plan = gateway.plan(config).await;
        assert_eq!((plan.surface.shown, plan.surface.reason.clone()), (Shown::Direct, None));
        assert_eq!(names(&plan), ALL);
        assert_eq!(plan.surface.definitions[4].parameters["properties"]["n"]["type"], "integer");
        assert_eq!(plan.surface.schemas_up_front(), 8);
    }
}

#[tokio::test]
async fn the_bytes_of_direct_exposure_are_those_that_it_sends() {
    let gateway = Gateway::new();
    let direct = gateway.plan("{}").await.surface.bytes;
    assert_eq!(direct.sent, direct.direct);
    for mode in MODES {
        let bytes = gateway.plan(&in_mode(mode)).await.surface.bytes;
        assert_eq!(bytes.direct, direct.sent, "{mode}");
    }
    let text = serde_json::to_string(&gateway.plan("{}").await.surface.definitions).unwrap();
    assert_eq!(direct.sent, text.len());
}

#[tokio::test]
async fn a_harness_with_a_tool_search_of_its_own_gets_none_of_ours() {
    let gateway = Gateway::new();
    for mode in MODES {
        let context = RunContext { harness: Some("codex".into()), ..RunContext::default() };
        let plan = gateway.plan_of(&in_mode(mode), PlanRequest { context, ..gateway.request() }).await;
        assert_eq!(plan.surface.shown, Shown::HandedOver);
        assert_eq!(names(&plan), ALL, "its tools are handed over as dynamic tools");
        assert!(plan.surface.reason.unwrap().contains("codex has a tool search of its own"));
        assert!(plan.surface.definitions.iter().all(|definition| Control::named(&definition.name).is_none()));
    }
    let other = RunContext { harness: Some("pi".into()), ..RunContext::default() };
    assert_eq!(gateway.plan_of(&in_mode("code"), PlanRequest { context: other, ..gateway.request() }).await.surface.shown, Shown::Code);
}

#[tokio::test]
async fn code_falls_back_to_tools_when_no_child_can_be_isolated_and_says_so() {
    let gateway = Gateway::new();
    let request = || PlanRequest { no_isolation: Some("not Linux".into()), ..gateway.request() };
    let plan = gateway.plan_of(&in_mode("code"), request()).await;
    assert_eq!((plan.surface.shown, names(&plan)), (Shown::Tools, vec!["tool_search", "tool_describe", "tool_call"]));
    let reason = plan.surface.reason.unwrap();
    assert!(reason.contains("not Linux") && reason.contains("mode tools in its place"), "{reason}");
    for (mode, shown) in [("tools", Shown::Tools), ("directory", Shown::Directory)] {
        let plan = gateway.plan_of(&in_mode(mode), request()).await;
        assert_eq!((plan.surface.shown, plan.surface.reason), (shown, None));
    }
    assert_eq!(gateway.plan_of("{}", request()).await.surface.shown, Shown::Direct);
}

#[tokio::test]
async fn names_are_what_providers_take_and_map_back() {
    let gateway = Gateway::new();
    let strange = FakeSource::new(Source::Mcp, "strange", &["a/b", "a.b", "sök", "send_email", "tool_call", &"x".repeat(80)]);
    gateway.sources.add(Arc::clone(&strange) as _);
    let plan = gateway.plan("{}").await;
    let shown: HashSet<&str> = names(&plan).into_iter().collect();
    assert_eq!(shown.len(), 14);
    let takeable =
        |name: &&str| (1..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    assert!(shown.iter().all(takeable), "{shown:?}");
    let mut ids = HashSet::new();
    for definition in &plan.surface.definitions {
        let Some(Target::Tool(tool)) = plan.surface.target(&definition.name) else { panic!("{}", definition.name) };
        assert!(definition.description.contains(&tool.source_name), "{definition:?} is not {tool:?}");
        assert!(ids.insert(tool.id.clone()));
    }
    // The same in another process, which has another order of sources.
    let other = Gateway::new();
    let first = other.sources.clone();
    let reordered = codemode::catalog::Sources::new();
    for source in [&strange, &gateway.server, &gateway.core, &gateway.plugin] {
        reordered.add(Arc::clone(source) as _);
    }
    drop(first);
    let again = Gateway { sources: Arc::new(reordered), ..other }.plan("{}").await;
    assert_eq!(names(&again).into_iter().collect::<HashSet<_>>(), shown);
}

#[tokio::test]
async fn names_of_a_client_that_collide_are_refused_and_take_nothing_over() {
    for config in ["{}".to_owned(), in_mode("directory")] {
        let gateway = Gateway::new();
        gateway.client.set(&["open_tab", "tool_call", "exec", "not takeable", "tool_search_code"]);
        let plan = gateway.plan(&config).await;
        let refused: Vec<&str> = plan.surface.refused.iter().map(|refused| refused.id.as_str()).collect();
        assert_eq!(refused, ["client:app:tool_call", "client:app:exec", "client:app:not takeable", "client:app:tool_search_code"]);
        assert!(plan.surface.refused[1].reason.contains("\"exec\" is the name of a tool of the gateway"), "{:?}", plan.surface.refused);
        assert!(names(&plan).contains(&"open_tab") && !names(&plan).contains(&"tool_search_code"));
        let owner = |name: &str| match plan.surface.target(name) {
            Some(Target::Tool(tool)) => Some(tool.source),
            _ => None,
        };
        assert_ne!(owner("exec"), Some(Source::Client));
        assert_ne!(owner("tool_call"), Some(Source::Client));
    }
}

#[tokio::test]
async fn two_clients_with_one_name_are_told_apart_by_refusal() {
    let gateway = Gateway::new();
    let other = FakeSource::new(Source::Client, "other", &["open_tab"]);
    let mut request = gateway.request();
    request.client.push(other as _);
    let plan = gateway.plan_of(&in_mode("directory"), request).await;
    assert_eq!(plan.surface.refused[0].id, "client:other:open_tab");
}

#[tokio::test]
async fn what_a_model_reads_of_the_controls_is_enough_to_use_them() {
    let gateway = Gateway::new();
    let code = gateway.plan("{tools: {toolSearch: {searchDefaultLimit: 5, maxSearchLimit: 7}}}").await;
    let text = &code.surface.definitions[0].description;
    for part in [
        "8 tools can be reached",
        "await openclaw.tools.search(",
        "await openclaw.tools.describe(id)",
        "await openclaw.tools.call(id, args)",
        "(at most 7)",
        "`return` what you want to see",
        "Promise.all",
        "no timers, files, network, require or import",
        "Example:",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    let search = Control::Search.parameters(code.catalog.limits());
    assert_eq!((&search["properties"]["limit"]["maximum"], &search["required"]), (&json!(7), &json!(["query"])));
    for control in Control::ALL {
        let definition = control.definition(8, code.catalog.limits());
        assert_eq!(definition.parameters["type"], "object");
        assert_eq!(definition.parameters["additionalProperties"], false);
        assert_eq!(definition.as_function()["function"]["name"], control.as_str());
        // Every argument is explained, none is required that is not there.
        let properties = definition.parameters["properties"].as_object().unwrap();
        assert!(properties.values().all(|property| property["description"].is_string()));
        assert!(definition.parameters["required"].as_array().unwrap().iter().all(|key| properties.contains_key(key.as_str().unwrap())));
        assert!(definition.bytes() < 2_600, "{}: {} bytes", definition.name, definition.bytes());
    }
}

#[tokio::test]
async fn every_scope_decides_what_is_shown() {
    let gateway = Gateway::new();
    let config = "{tools: {toolSearch: {mode: 'directory'}, deny: ['*:exec']}, agents: {a: {tools: {allow: ['mcp:*']}}, b: {tools: {toolSearch: false}}}}";
    let a = gateway.plan_of(config, PlanRequest { context: agent("a"), ..gateway.request() }).await;
    let directory = a.surface.directory.clone().unwrap();
    assert!(directory.contains("send_email") && !directory.contains("weather") && !directory.contains("read_file"));
    assert_eq!(names(&a), ["tool_search", "tool_describe", "tool_call"]);
    let b = gateway.plan_of(config, PlanRequest { context: agent("b"), ..gateway.request() }).await;
    assert_eq!(b.surface.shown, Shown::Direct);
    assert!(!names(&b).contains(&"exec") && names(&b).contains(&"read_file"));
}

#[tokio::test]
async fn a_description_of_a_stranger_is_bounded_and_has_no_signs_that_are_obeyed() {
    let gateway = Gateway::new();
    let text = format!("Reads.\u{1b}[2J\u{202e}{}", "x".repeat(100_000));
    gateway.server.set_tools(vec![Arc::new(Tool::new(Source::Mcp, "mail", "read", text, json!({"properties": {}})))]);
    let plan = gateway.plan("{}").await;
    let definition = plan.surface.definitions.iter().find(|definition| definition.name == "read").unwrap();
    assert!(definition.description.len() < 20_000 && !definition.description.contains(['\u{1b}', '\u{202e}']));
    assert_eq!(definition.parameters["type"], "object", "providers want it said");
}

#[tokio::test]
async fn only_a_directory_hides_tools_under_names_that_can_be_called() {
    let gateway = Gateway::new();
    for (config, can) in [("{}".to_owned(), false), (in_mode("code"), false), (in_mode("tools"), false), (in_mode("directory"), true)] {
        let plan = gateway.plan(&config).await;
        let hydrated = plan.surface.hydrate("send_email");
        assert_eq!(hydrated.is_ok(), can, "{config}");
        if let Err(failure) = hydrated {
            assert_eq!(failure.code, CallCode::UnknownTool);
        }
    }
}
