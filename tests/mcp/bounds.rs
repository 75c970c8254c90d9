//! Servers that send too much, the wrong thing, or for ever: bounded, named, and nobody else's trouble.

use std::time::{Duration, Instant};

use codemode::catalog::{CallCode, Catalog};
use serde_json::json;

use crate::stage::{Scene, call};

#[tokio::test]
async fn an_answer_of_100_mb_fails_its_call_alone() {
    let scene = Scene::of(&[("srv", json!({}))]);
    let catalog = scene.view().await;
    for id_last in [false, true] {
        let args = json!({"bytes": 100 << 20, "idLast": id_last});
        let failure = call(&catalog, "mcp:srv:long", args).await.unwrap_err();
        assert_eq!(failure.code, CallCode::TooLarge, "{failure:?}");
        assert!(failure.data["bytes"].as_u64().unwrap() > 100 << 20, "{failure:?}");
        assert_eq!(call(&catalog, "mcp:srv:whoami", json!({})).await.unwrap(), "srv");
    }
    scene.end().await;
}

#[tokio::test]
async fn the_largest_value_that_a_limit_allows_passes() {
    let scene = Scene::of(&[("srv", json!({}))]);
    let catalog = scene.view().await;
    let value = call(&catalog, "mcp:srv:long", json!({"bytes": 16 << 20, "idLast": true})).await.unwrap();
    assert_eq!(value.as_str().unwrap().len(), 16 << 20);
    scene.end().await;
}

/// One thread has the clock, and reads what servers say: in the time that a large answer takes to be understood, others must have their turn.
#[tokio::test]
async fn no_clock_waits_for_an_answer_to_be_understood() {
    let scene = Scene::of(&[("srv", json!({}))]);
    let catalog = scene.view().await;
    let mut answer = std::pin::pin!(call(&catalog, "mcp:srv:many", json!({"values": 1_500_000})));
    let (mut last, mut longest, began) = (Instant::now(), Duration::ZERO, Instant::now());
    let value = loop {
        tokio::select! {
            answer = &mut answer => break answer.unwrap(),
            () = tokio::time::sleep(Duration::from_millis(10)) => {}
        }
        longest = longest.max(last.elapsed());
        last = Instant::now();
    };
    let took = began.elapsed();
    assert_eq!(value["many"].as_array().unwrap().len(), 1_500_001);
    assert!(took > Duration::from_millis(300), "nothing to see: {took:?}");
    assert!(longest < took / 3, "the clock stood still for {longest:?} of {took:?}");
    scene.end().await;
}

/// The most memory that this program ever had.
pub(crate) fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim().trim_end_matches(" kB").parse().unwrap()
}

/// A piece, and how often it makes 15 MiB: read, the first is 2 GiB, the second 1.3, the third 0.9 (measured by reading them without the bound).
pub(crate) const SHORT_AND_LARGE: [(&str, u64); 3] = [("[[[[[[0]]]]]],", 1_120_000), ("[0],", 3_900_000), ("{\"\":0},", 2_240_000)];

#[tokio::test]
async fn what_is_short_as_a_text_and_large_as_a_value_is_refused_and_never_kept() {
    let scene = Scene::of(&[("srv", json!({}))]);
    let catalog = scene.view().await;
    for (piece, values) in SHORT_AND_LARGE {
        let failure = call(&catalog, "mcp:srv:many", json!({"values": values, "piece": piece})).await.unwrap_err();
        assert_eq!(failure.code, CallCode::TooLarge, "{failure:?}");
        assert!(!failure.is_unanswered && failure.message.contains("so many values"), "{failure:?}");
        assert_eq!(failure.data["limit"], 128 << 20);
        assert!(peak_kib() < 1 << 20, "{} KiB", peak_kib());
    }
    // What a real tool sends in the usual limit of a result passes.
    let row = r#"{"id":123456,"name":"abcdefgh","ok":true,"n":12.5,"t":"2024-01-01"},"#;
    let rows = call(&catalog, "mcp:srv:many", json!({"values": (4 << 20) / row.len(), "piece": row})).await.unwrap();
    assert!(rows["many"].as_array().unwrap().len() > 50_000);
    scene.end().await;
}

#[tokio::test]
async fn a_flood_ends_the_connection_and_not_the_memory() {
    for flood in ["endless", "babble"] {
        let scene = Scene::of(&[("srv", json!({}))]);
        let catalog = scene.view().await;
        let failure = call(&catalog, &format!("mcp:srv:{flood}"), json!({})).await.unwrap_err();
        assert!(failure.code == CallCode::ToolUnavailable && failure.is_unanswered && failure.message.contains("MiB"), "{failure:?}");
        // 256 MiB went by; the other tests of this program run beside this one.
        assert!(peak_kib() < 1 << 20, "{} KiB", peak_kib());
        scene.end().await;
    }
}

#[tokio::test]
async fn a_flood_before_the_handshake_is_an_unavailable_server() {
    let scene = Scene::of(&[("srv", json!({"start": "endless banner"}))]);
    let missing = scene.view().await.summary().unavailable;
    assert!(missing.len() == 1 && missing[0].reason.contains("a line of more than 256 MiB"), "{missing:?}");
    scene.end().await;
}

#[tokio::test]
async fn no_depth_of_an_answer_reaches_a_stack() {
    let scene = Scene::of(&[("srv", json!({}))]);
    let catalog = scene.view().await;
    assert!(call(&catalog, "mcp:srv:deep", json!({"levels": 100})).await.is_ok());
    for levels in [1_000, 100_000, 1_000_000] {
        let failure = call(&catalog, "mcp:srv:deep", json!({"levels": levels})).await.unwrap_err();
        assert_eq!(failure.code, CallCode::InvalidResult, "{failure:?}");
    }
    assert_eq!(call(&catalog, "mcp:srv:whoami", json!({})).await.unwrap(), "srv");
    scene.end().await;
}

#[tokio::test]
async fn the_first_answer_counts_and_answers_to_nobody_are_told_of() {
    let scene = Scene::of(&[("srv", json!({}))]);
    let catalog = scene.view().await;
    assert_eq!(call(&catalog, "mcp:srv:twice", json!({})).await.unwrap(), "first");
    assert_eq!(call(&catalog, "mcp:srv:count", json!({})).await.unwrap(), "1");
    let lines = scene.servers.lines();
    assert_eq!(lines.iter().filter(|line| line.contains("answer to no open request")).count(), 2, "{lines:?}");
    scene.end().await;
}

#[tokio::test]
async fn lists_that_go_round_or_never_end_are_given_up() {
    let scene = Scene::of(&[("circle", json!({"start": "circle"})), ("endless", json!({"start": "no end"}))]);
    let missing = scene.view().await.summary().unavailable;
    let reasons: Vec<_> = missing.iter().map(|missing| missing.reason.as_str()).collect();
    assert_eq!(reasons, ["its pages go round in a circle", "its list has more than 1000 pages"]);
    scene.end().await;
}

#[tokio::test]
async fn results_of_every_kind_arrive_as_they_are() {
    let scene = Scene::of(&[("srv", json!({}))]);
    let catalog = scene.view().await;
    assert_eq!(call(&catalog, "mcp:srv:structured", json!({})).await.unwrap(), json!({"z": 1, "a": [null, 1.5, "é"]}));
    let blocks = call(&catalog, "mcp:srv:image", json!({})).await.unwrap();
    assert_eq!(blocks[0], json!({"type": "image", "data": "aGk=", "mimeType": "image/png"}));
    assert_eq!(blocks[1], json!({"type": "resource", "resource": {"uri": "demo://a", "text": "t"}}));
    // What the SDK has no type for is not lost.
    assert_eq!(blocks[2], json!({"type": "from the future", "anything": {"id": 1}}));
    assert_eq!(call(&catalog, "mcp:srv:progress", json!({})).await.unwrap(), "done");
    scene.end().await;
}

#[tokio::test]
async fn what_a_server_asks_is_refused_unless_it_is_a_ping_or_has_roots() {
    let scene = Scene::of(&[("srv", json!({}))]);
    let catalog = scene.view().await;
    let none = json!({"code": -32601});
    let answers = call(&catalog, "mcp:srv:asks", json!({})).await.unwrap();
    let expected =
        json!({"ping": {"result": {}}, "roots/list": none, "sampling/createMessage": none, "elicitation/create": none, "made/up": none});
    assert_eq!(answers, expected);
    let declared = |scene: &Scene| scene.log("srv").into_iter().find(|line| line["what"] == "client").unwrap()["capabilities"].clone();
    assert_eq!(declared(&scene), json!({}));
    scene.end().await;

    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("srv.log");
    let mut server = crate::stage::fake(&json!({"log": log}));
    let codemode::config::McpServer::Command { roots, .. } = &mut server else { unreachable!() };
    roots.push("/srv/a b".to_owned());
    let scene = Scene::with([("srv".to_owned(), server)].into(), folder);
    let answers = call(&scene.view().await, "mcp:srv:asks", json!({})).await.unwrap();
    assert_eq!(answers["roots/list"], json!({"result": {"roots": [{"uri": "file:///srv/a%20b"}]}}));
    assert_eq!(answers["sampling/createMessage"], none);
    assert_eq!(declared(&scene), json!({"roots": {}}));
    scene.end().await;
}

#[tokio::test]
async fn a_flood_of_requests_is_not_kept() {
    let scene = Scene::of(&[("srv", json!({}))]);
    let catalog = scene.view().await;
    assert_eq!(call(&catalog, "mcp:srv:flood_of_requests", json!({})).await.unwrap(), "asked");
    assert_eq!(call(&catalog, "mcp:srv:whoami", json!({})).await.unwrap(), "srv");
    scene.end().await;
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_cancelled_and_its_late_answer_is_no_news() {
    let scene = Scene::of(&[("srv", json!({}))]);
    let catalog = scene.view().await;
    let began = Instant::now();
    let slow = call(&catalog, "mcp:srv:slow", json!({"ms": 700}));
    assert!(tokio::time::timeout(Duration::from_millis(300), slow).await.is_err());
    let log = scene.log_file("srv");
    codemode_tests::patience::until("the server was told", Duration::from_secs(5), || {
        crate::stage::log(&log).iter().any(|line| line["method"] == "notifications/cancelled" && line["params"]["requestId"].is_i64())
    })
    .await;
    tokio::time::sleep(Duration::from_millis(1_000).saturating_sub(began.elapsed())).await;
    assert_eq!(call(&catalog, "mcp:srv:whoami", json!({})).await.unwrap(), "srv");
    assert!(scene.servers.lines().is_empty(), "{:?}", scene.servers.lines());
    scene.end().await;
}
