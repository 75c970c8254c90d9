//! Cases that others reported, at a real server process.

use std::time::{Duration, Instant};

use codemode::catalog::CallCode;
use serde_json::json;

use crate::stage::{Scene, call, found};

#[tokio::test]
async fn p18_an_mcp_error_result_throws_and_a_protocol_error_does_too() {
    let scene = Scene::of(&[("srv", json!({}))]);
    let catalog = scene.view().await;
    let failure = call(&catalog, "mcp:srv:iserr", json!({})).await.unwrap_err();
    assert_eq!((failure.code, failure.message.as_str()), (CallCode::ToolError, "bad input"));
    let failure = call(&catalog, "mcp:srv:rpcerr", json!({})).await.unwrap_err();
    assert_eq!((failure.code, failure.message.as_str()), (CallCode::ToolError, "no such thing"));
    assert_eq!(failure.data, json!({"code": -32602, "data": {"why": "because"}}));
    scene.end().await;
}

#[tokio::test]
async fn p22_strange_names_reach_the_server_unchanged() {
    let names = ["vercel.deploy", "vercel-deploy", "a/b", "sök"];
    let scene = Scene::of(&[("srv", json!({"tools": names}))]);
    let catalog = scene.view().await;
    for name in names {
        let id = format!("mcp:srv:{name}");
        assert!(found(&catalog, name).await.contains(&id), "{name}");
        assert_eq!(call(&catalog, &id, json!({})).await.unwrap(), "srv");
    }
    assert_eq!(scene.called("srv"), names);
    scene.end().await;
}

#[tokio::test]
async fn p23_two_servers_with_one_tool_name_are_two_tools() {
    let scene = Scene::of(&[("one", json!({"tools": ["send_email"]})), ("two", json!({"tools": ["send_email"]}))]);
    let catalog = scene.view().await;
    for name in ["one", "two"] {
        let id = format!("mcp:{name}:send_email");
        assert!(found(&catalog, "send email").await.contains(&id));
        assert_eq!(call(&catalog, &id, json!({})).await.unwrap(), name);
    }
    let failure = call(&catalog, "send_email", json!({})).await.unwrap_err();
    assert_eq!(failure.code, CallCode::AmbiguousTool);
    assert!(failure.message.contains("mcp:one:send_email") && failure.message.contains("mcp:two:send_email"), "{failure:?}");
    scene.end().await;
}

#[tokio::test]
async fn p31_tools_beyond_the_first_page_are_there_and_cursors_go_back_unchanged() {
    let names: Vec<String> = (0..101).map(|n| format!("tool_{n:03}")).collect();
    let scene = Scene::of(&[("srv", json!({"tools": names, "pageSize": 50}))]);
    let catalog = scene.view().await;
    assert_eq!(catalog.tools().tools().len(), 101);
    assert!(found(&catalog, "tool_100").await.contains(&"mcp:srv:tool_100".to_owned()));
    assert_eq!(call(&catalog, "mcp:srv:tool_100", json!({})).await.unwrap(), "srv");
    let cursors: Vec<_> = scene.log("srv").into_iter().filter(|line| line["what"] == "list").map(|line| line["cursor"].clone()).collect();
    assert_eq!(cursors, [json!(null), json!("é+/NTA "), json!("é+/MTAw ")]);
    scene.end().await;
}

#[tokio::test]
async fn p32_the_next_run_sees_what_has_changed_and_a_run_under_way_keeps_its_view() {
    let scene = Scene::of(&[("srv", json!({"tools": ["changes", "old_tool"]}))]);
    let first = scene.view().await;
    assert_eq!(call(&first, "mcp:srv:changes", json!({})).await.unwrap(), "changed");
    // The notice comes after the answer.
    let server = &scene.servers.servers()[0];
    let mut changed = codemode::catalog::ToolSource::changed(&**server);
    tokio::time::timeout(Duration::from_secs(5), changed.wait_for(|changes| *changes > 0)).await.unwrap().unwrap();
    let second = scene.view().await;
    assert_eq!(call(&second, "mcp:srv:late_tool", json!({})).await.unwrap(), "late");
    assert!(!found(&second, "old tool").await.contains(&"mcp:srv:old_tool".to_owned()));
    let failure = call(&second, "mcp:srv:old_tool", json!({})).await.unwrap_err();
    assert!(failure.code == CallCode::ToolUnavailable && failure.message.contains("no longer exists"), "{failure:?}");
    assert!(found(&first, "old tool").await.contains(&"mcp:srv:old_tool".to_owned()));
    scene.end().await;
}

#[tokio::test]
async fn p33_what_is_no_message_goes_to_people_and_not_to_the_body() {
    let scene = Scene::of(&[("srv", json!({"start": "banner"}))]);
    let catalog = scene.view().await;
    assert_eq!(call(&catalog, "mcp:srv:debug", json!({})).await.unwrap(), "clean");
    assert_eq!(call(&catalog, "mcp:srv:echo", json!({"a": 1})).await.unwrap(), "{\"a\":1}");
    let lines = scene.servers.lines();
    for word in ["Server v1.2 ready ✓", "debug: before the reply", "not UTF-8", "blank line", "half"] {
        assert!(lines.iter().any(|line| line.contains("\"srv\"") && line.contains(word)), "{word}: {lines:?}");
    }
    scene.end().await;
}

#[tokio::test]
async fn p34_characters_cut_into_bytes_arrive_whole() {
    let scene = Scene::of(&[("srv", json!({}))]);
    let catalog = scene.view().await;
    assert_eq!(call(&catalog, "mcp:srv:bytewise", json!({})).await.unwrap(), "— é 日本 😀");
    scene.end().await;
}

#[tokio::test]
async fn p35_a_chatty_stderr_holds_nobody_up_and_is_kept_up_to_a_limit() {
    let scene = Scene::of(&[("srv", json!({}))]);
    let catalog = scene.view().await;
    for _ in 0..3 {
        assert_eq!(call(&catalog, "mcp:srv:chatty", json!({})).await.unwrap(), "heard");
    }
    let chatter = scene.servers.servers()[0].chatter();
    codemode_tests::patience::until("all of it is read", Duration::from_secs(5), || chatter.standard_error().1 == 3 * (256 << 10)).await;
    assert!(chatter.standard_error().0.len() <= 16 << 10);
    scene.end().await;
}

#[tokio::test]
async fn p36_a_server_that_dies_in_mid_call_is_one_error_at_once_and_is_not_asked_again() {
    let scene = Scene::of(&[("srv", json!({})), ("other", json!({}))]);
    let catalog = scene.view().await;
    let began = Instant::now();
    let failure = call(&catalog, "mcp:srv:bye", json!({})).await.unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(failure.code, CallCode::ToolUnavailable);
    assert!(failure.is_unanswered && failure.message.contains("\"srv\"") && failure.message.contains("SIGKILL"), "{failure:?}");
    assert_eq!(scene.called("srv"), ["bye"]);
    assert_eq!(call(&catalog, "mcp:other:whoami", json!({})).await.unwrap(), "other");
    // The next call starts it again.
    assert_eq!(call(&catalog, "mcp:srv:count", json!({})).await.unwrap(), "1");
    assert_eq!(scene.called("srv"), ["bye", "count"]);
    scene.end().await;
}

#[tokio::test]
async fn p37_ids_as_text_and_early_notices_are_no_riddle() {
    for start in ["text ids", "early"] {
        let scene = Scene::of(&[("srv", json!({"start": start}))]);
        let catalog = scene.view().await;
        assert_eq!(call(&catalog, "mcp:srv:count", json!({})).await.unwrap(), "1", "{start}");
        assert!(scene.servers.lines().is_empty(), "{:?}", scene.servers.lines());
        scene.end().await;
    }
}

#[tokio::test]
async fn p38_one_dead_server_holds_nobody_up() {
    let mut servers = std::collections::BTreeMap::new();
    servers.insert("fine".to_owned(), crate::stage::fake(&json!({"name": "fine"})));
    servers.insert("silent".to_owned(), crate::stage::fake(&json!({"start": "silent"})));
    servers.insert("missing".to_owned(), crate::stage::program(&["no-such-program-anywhere".to_owned()]));
    servers.insert("broken".to_owned(), crate::stage::fake(&json!({"start": "dies"})));
    servers.insert("unwilling".to_owned(), crate::stage::fake(&json!({"start": "refuses"})));
    let connections = codemode::catalog::McpConnections::of(&servers);
    let sources = codemode::catalog::Sources::new().with_patience(Duration::from_secs(4));
    connections.add_to(&sources);
    let scene = Scene { servers: connections, sources: std::sync::Arc::new(sources), ..Scene::of(&[]) };
    let began = Instant::now();
    let catalog = scene.view().await;
    assert_eq!(call(&catalog, "mcp:fine:whoami", json!({})).await.unwrap(), "fine");
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
    let missing = codemode::catalog::Catalog::summary(&catalog).unavailable;
    let reason =
        |name: &str| missing.iter().find(|missing| missing.server == name).map(|missing| missing.reason.clone()).unwrap_or_default();
    assert!(reason("silent").contains("given no list within 4000 ms"), "{missing:?}");
    assert!(reason("missing").contains("is not found"), "{missing:?}");
    assert!(reason("broken").contains("exit code 7") && reason("broken").contains("cannot find module"), "{missing:?}");
    assert!(reason("unwilling").contains("no entry"), "{missing:?}");
    assert_eq!(missing.len(), 4);
    scene.end().await;
}
