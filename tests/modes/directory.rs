//! The directory: its text, its schemas, and the tools behind it.

use std::sync::Arc;

use codemode::catalog::{CallCode, Source, Sources, Tool};
use codemode::modes::{Plan, PlanRequest};
use codemode_tests::fake_source::FakeSource;
use serde_json::json;

use super::{Gateway, in_mode, names};

const MOST_CHARS: usize = 18_000;

fn text(plan: &Plan) -> &str {
    plan.surface.directory.as_deref().unwrap()
}

fn with_likely(prompt: &str, schemas: usize) -> (String, PlanRequest) {
    let config = format!("{{tools: {{toolSearch: {{mode: 'directory', directorySchemas: {schemas}}}}}}}");
    (config, PlanRequest { prompt: prompt.into(), ..PlanRequest::default() })
}

#[tokio::test]
async fn the_text_has_every_name_with_a_short_description() {
    let gateway = Gateway::new();
    let plan = gateway.plan(&in_mode("directory")).await;
    let lines: Vec<&str> = text(&plan).lines().skip(1).filter(|line| !line.is_empty()).collect();
    assert_eq!(
        lines,
        [
            "openclaw core (2):",
            "- exec: The tool exec of the source core.",
            "- read_file: The tool read file of the source core.",
            "plugin weather (2):",
            "- current_weather: The tool current weather of the source weather.",
            "- weather_forecast: The tool weather forecast of the source weather.",
            "mcp mail (3):",
            "- delete_email: The tool delete email of the source mail.",
            "- list.mails: The tool list.mails of the source mail.",
            "- send_email: The tool send email of the source mail.",
        ]
    );
    assert!(!text(&plan).contains("open_tab"), "a tool of the client is shown directly");
}

#[tokio::test]
async fn the_text_is_the_same_whatever_the_order_of_sources_and_tools() {
    let gateway = Gateway::new();
    let before = text(&gateway.plan(&in_mode("directory")).await).to_owned();
    gateway.server.set(&["delete_email", "send_email", "list.mails"]);
    gateway.server.notify();
    let sources = Sources::new();
    for source in [&gateway.core, &gateway.server, &gateway.plugin] {
        sources.add(Arc::clone(source) as _);
    }
    let other = Gateway { sources: Arc::new(sources), ..gateway };
    assert_eq!(text(&other.plan(&in_mode("directory")).await), before);
}

#[tokio::test]
async fn the_text_stays_within_its_bound_however_many_tools_there_are() {
    for (sources, tools, words) in [(1, 100, 10), (3, 400, 100), (1, 3_000, 5), (40, 100, 5), (3_000, 1, 5), (1, 20_000, 1)] {
        let all = Sources::new();
        for number in 0..sources {
            let server = FakeSource::new(Source::Mcp, &format!("server{number}"), &[]);
            let description = "é word ".repeat(words);
            let tool = |n| Arc::new(Tool::new(Source::Mcp, format!("server{number}"), format!("tool_{n}"), description.clone(), json!({})));
            server.set_tools((0..tools).map(tool).collect());
            all.add(server);
        }
        let gateway = Gateway { sources: Arc::new(all), ..Gateway::new() };
        let plan = gateway.plan(&in_mode("directory")).await;
        let chars = text(&plan).chars().count();
        assert!(chars <= MOST_CHARS && chars > 2_000, "{sources} x {tools}: {chars}");
        let all_listed = text(&plan).matches("\n- ").count() == sources * tools && !text(&plan).contains("more");
        assert!(all_listed || text(&plan).contains("- and ") || text(&plan).contains("are found with tool_search"), "{sources} x {tools}");
        if sources == 40 {
            // What does not fit is left out of every source alike.
            let shown: Vec<usize> = text(&plan).split("mcp server").skip(1).map(|part| part.matches(":tool_").count()).collect();
            assert!(shown.len() == 40 && shown.iter().all(|count| *count == shown[0] && *count > 5), "{shown:?}");
        }
    }
}

#[tokio::test]
async fn required_tools_come_first_then_likely_ones_up_to_the_bound() {
    let gateway = Gateway::new();
    let (config, mut request) = with_likely("what is the weather forecast", 4);
    request.required = vec!["mcp:mail:send_email".into(), "exec".into(), "nobody".into(), "exec".into()];
    let plan = gateway.plan_of(&config, request.clone()).await;
    assert_eq!(names(&plan)[3..5], ["send_email", "exec"]);
    let mut likely = names(&plan)[5..].to_vec();
    likely.sort_unstable();
    assert_eq!(likely, ["current_weather", "weather_forecast"]);
    let (config, _) = with_likely("", 1);
    assert_eq!(names(&gateway.plan_of(&config, request.clone()).await)[3..], ["send_email"]);
    let (config, _) = with_likely("", 0);
    assert_eq!(names(&gateway.plan_of(&config, request).await).len(), 3);
}

#[tokio::test]
async fn likely_tools_are_those_that_the_search_finds_first() {
    let gateway = Gateway::new();
    let (config, request) = with_likely("send an email", 1);
    let plan = gateway.plan_of(&config, request).await;
    let best = &plan.catalog.tools().best("send an email", 1)[0];
    assert_eq!((best.id.as_str(), names(&plan)[3]), ("mcp:mail:send_email", "send_email"));
}

#[tokio::test]
async fn a_giant_schema_does_not_bring_back_what_the_directory_saves() {
    let gateway = Gateway::new();
    let giant = json!({"type": "object", "description": "x".repeat(20_000)});
    let tool = |name: &str, schema| Arc::new(Tool::new(Source::Mcp, "mail", name, "Finds the needle.", schema));
    gateway.server.set_tools(vec![tool("needle_giant", giant), tool("needle_small", json!({}))]);
    let (config, mut request) = with_likely("find the needle", 4);
    request.required = vec!["needle_giant".into()];
    let plan = gateway.plan_of(&config, request).await;
    assert!(names(&plan).contains(&"needle_small") && !names(&plan).contains(&"needle_giant"), "{:?}", names(&plan));
    assert!(plan.surface.bytes.sent < 20_000);
}

#[tokio::test]
async fn an_exact_hidden_name_is_hydrated_from_the_authorised_catalog() {
    let gateway = Gateway::new();
    let plan = gateway.plan("{tools: {toolSearch: {mode: 'directory'}, deny: ['mcp:mail:delete_email']}}").await;
    for name in ["list.mails", "mcp:mail:list.mails", "list_mails"] {
        let (tool, definition) = plan.surface.hydrate(name).unwrap();
        assert_eq!((tool.id.as_str(), definition.name.as_str()), ("mcp:mail:list.mails", "list_mails"));
        assert_eq!(definition.parameters["properties"]["n"]["type"], "integer");
    }
    for name in ["delete_email", "mcp:mail:delete_email", " delete_email "] {
        let failure = plan.surface.hydrate(name).unwrap_err();
        assert_eq!(failure.code, CallCode::Denied);
        assert!(failure.data.is_null() && !failure.message.contains("source mail"), "{failure:?}");
    }
    assert_eq!(plan.surface.hydrate("Send_Email").unwrap_err().code, CallCode::UnknownTool);
    assert!(!text(&plan).contains("delete_email"));
}
