//! The catalog of a run out of sources: ids, pages, changes, and sources that fail.

use std::sync::Arc;
use std::time::{Duration, Instant};

use codemode::catalog::{
    CallCode, CallContext, CallFailure, Catalog, Listing, Permission, RunCatalog, SearchLimits, SearchQuery, Source, Sources, Tool,
};
use codemode_tests::fake_source::FakeSource;
use serde_json::{Value, json};

#[derive(Debug)]
pub(crate) struct All;

impl Permission for All {
    fn permits(&self, _id: &str) -> bool {
        true
    }
}

fn sources(of: &[&Arc<FakeSource>]) -> Arc<Sources> {
    let sources = Sources::new();
    for source in of {
        sources.add(Arc::clone(source) as _);
    }
    Arc::new(sources)
}

async fn view(sources: &Arc<Sources>) -> RunCatalog {
    listing(sources).await.index(&All, SearchLimits::default())
}

async fn listing(sources: &Arc<Sources>) -> Listing {
    let mut listing = Listing::of(sources);
    listing.add_own().await;
    listing.add_mcp().await;
    listing.add_client(&[]).await;
    listing
}

async fn found(catalog: &RunCatalog, query: &str) -> Vec<String> {
    let found = catalog.search(&SearchQuery { query: query.into(), limit: Some(20) }).await.unwrap();
    found.iter().map(|tool| tool.id.clone()).collect()
}

/// As the gate does it.
async fn call(catalog: &RunCatalog, id: &str) -> Result<Value, CallFailure> {
    let tool = catalog.describe(id).await?;
    catalog.available(&tool).await?;
    catalog.call(&tool, json!({}), &CallContext { run_id: "r".into(), seq: 1 }).await
}

fn ids(catalog: &RunCatalog) -> Vec<&str> {
    catalog.tools().tools().iter().map(|tool| tool.id.as_str()).collect()
}

#[tokio::test]
async fn p22_strange_names_have_ids_of_their_own_and_reach_the_server_unchanged() {
    let names = ["vercel.deploy", "vercel-deploy", "a/b", "sök"];
    let server = FakeSource::new(Source::Mcp, "srv", &names);
    let catalog = view(&sources(&[&server])).await;
    // The same in every process: they are made of nothing but words.
    assert_eq!(ids(&catalog), ["mcp:srv:vercel.deploy", "mcp:srv:vercel-deploy", "mcp:srv:a/b", "mcp:srv:sök"]);
    for (name, id) in names.iter().zip(ids(&catalog)) {
        assert!(found(&catalog, name).await.contains(&id.to_owned()), "{name}");
        assert_eq!(catalog.describe(id).await.unwrap().name, *name);
        assert_eq!(call(&catalog, id).await.unwrap()["tool"], *name);
    }
    let called: Vec<String> = server.calls().into_iter().map(|(name, _)| name).collect();
    assert_eq!(called, names);
}

#[tokio::test]
async fn p23_two_servers_with_one_tool_name_are_two_tools() {
    let (one, two) = (FakeSource::new(Source::Mcp, "one", &["send_email"]), FakeSource::new(Source::Mcp, "two", &["send_email"]));
    let catalog = view(&sources(&[&two, &one])).await;
    let mut hits = found(&catalog, "send email").await;
    hits.sort();
    assert_eq!(hits, ["mcp:one:send_email", "mcp:two:send_email"]);
    for (id, server) in [("mcp:one:send_email", &one), ("mcp:two:send_email", &two)] {
        call(&catalog, id).await.unwrap();
        assert_eq!(server.calls().len(), 1, "{id}");
    }
    let failure = call(&catalog, "send_email").await.unwrap_err();
    assert_eq!(failure.code, CallCode::AmbiguousTool);
    assert_eq!(failure.data, json!({"ids": ["mcp:one:send_email", "mcp:two:send_email"]}));
    assert_eq!((one.calls().len(), two.calls().len()), (1, 1));
}

#[tokio::test]
async fn p31_tools_beyond_the_first_page_are_there_and_cursors_come_back_unchanged() {
    let names: Vec<String> = (1..=101).map(|n| format!("tool_{n:03}")).collect();
    let server = FakeSource::new(Source::Mcp, "srv", &names.iter().map(String::as_str).collect::<Vec<_>>());
    server.set_page(50);
    let catalog = view(&sources(&[&server])).await;
    assert_eq!(catalog.summary().catalog_size, 101);
    assert_eq!(found(&catalog, "tool_101").await[0], "mcp:srv:tool_101");
    call(&catalog, "tool_101").await.unwrap();
    assert_eq!(server.cursors(), [None, Some("after=50&é%20".into()), Some("after=100&é%20".into())]);
}

#[tokio::test]
async fn p32_a_changed_list_is_seen_by_the_next_run_and_never_by_the_one_under_way() {
    let server = FakeSource::new(Source::Mcp, "srv", &["old_tool", "kept_tool"]);
    let sources = sources(&[&server]);
    let first = view(&sources).await;
    call(&first, "kept_tool").await.unwrap();
    server.set(&["kept_tool", "late_tool"]);
    server.notify();

    let second = view(&sources).await;
    assert_eq!(found(&second, "late tool").await[0], "mcp:srv:late_tool");
    call(&second, "late_tool").await.unwrap();
    assert!(!found(&second, "old tool").await.contains(&"mcp:srv:old_tool".into()));
    let failure = call(&second, "mcp:srv:old_tool").await.unwrap_err();
    assert_eq!(failure.code, CallCode::ToolUnavailable);
    assert!(failure.message.contains("no longer exists"), "{}", failure.message);

    // What it saw it still sees; what is gone can be called no more, and nothing has come.
    assert!(found(&first, "old tool").await.contains(&"mcp:srv:old_tool".into()));
    assert_eq!(call(&first, "old_tool").await.unwrap_err().code, CallCode::ToolUnavailable);
    assert_eq!(call(&first, "late_tool").await.unwrap_err().code, CallCode::UnknownTool);
    assert_eq!(server.calls().len(), 2);
    // A tool that has not changed is the same one: what was made for it is not made again.
    assert!(Arc::ptr_eq(&first.describe("kept_tool").await.unwrap(), &second.describe("kept_tool").await.unwrap()));
}

#[tokio::test]
async fn a_list_is_asked_for_once_until_it_changes() {
    let server = FakeSource::new(Source::Mcp, "srv", &["a"]);
    let sources = sources(&[&server]);
    for _ in 0..3 {
        view(&sources).await;
    }
    assert_eq!(server.cursors().len(), 1);
    server.notify();
    view(&sources).await;
    assert_eq!(server.cursors().len(), 2);
}

#[tokio::test]
async fn a_failed_refresh_keeps_the_old_list_and_says_so() {
    let (good, bad) = (FakeSource::new(Source::Mcp, "good", &["a"]), FakeSource::new(Source::Mcp, "bad", &["b"]));
    let never = FakeSource::new(Source::Mcp, "never", &["c"]);
    never.set_failing(Some("it does not start"));
    let sources = sources(&[&good, &bad, &never]);
    let told = |catalog: &RunCatalog| -> Vec<(String, String)> {
        catalog.summary().unavailable.into_iter().map(|missing| (missing.server, missing.reason)).collect()
    };
    assert_eq!(told(&view(&sources).await), [("never".to_owned(), "it does not start".to_owned())]);
    bad.set_failing(Some("connection lost"));
    bad.notify();
    let stale = view(&sources).await;
    assert_eq!(ids(&stale), ["mcp:bad:b", "mcp:good:a"]);
    assert_eq!(told(&stale)[0], ("bad".to_owned(), "connection lost (an older list is used)".to_owned()));
    call(&stale, "b").await.unwrap();
    bad.set_failing(None);
    bad.notify();
    assert_eq!(told(&view(&sources).await).len(), 1);
}

#[tokio::test]
async fn p38_a_server_that_does_not_answer_holds_nobody_up_for_long_and_is_there_later() {
    let (slow, quick) = (FakeSource::new(Source::Mcp, "slow", &["s"]), FakeSource::new(Source::Mcp, "quick", &["q"]));
    slow.set_delay(Duration::from_millis(1_600));
    let sources = sources(&[&slow, &quick]);
    let began = Instant::now();
    let early = view(&sources).await;
    assert!(began.elapsed() < Duration::from_millis(1_500), "{:?}", began.elapsed());
    assert_eq!(ids(&early), ["mcp:quick:q"]);
    assert_eq!(early.summary().unavailable[0].server, "slow");
    // The list that was asked for arrives without anybody asking again.
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    assert_eq!(ids(&view(&sources).await), ["mcp:quick:q", "mcp:slow:s"]);
    assert_eq!(slow.cursors().len(), 1);
}

#[tokio::test]
async fn no_two_ids_are_alike_whatever_the_sources_call_themselves() {
    // `a` with the tool `b:c`, and `a:b` with the tool `c`.
    let (one, two) = (FakeSource::new(Source::Mcp, "a", &["b:c"]), FakeSource::new(Source::Mcp, "a:b", &["c"]));
    let escaped = FakeSource::new(Source::Mcp, "a%3Ab", &["c"]);
    let catalog = view(&sources(&[&one, &two, &escaped])).await;
    assert_eq!(ids(&catalog), ["mcp:a:b:c", "mcp:a%253Ab:c", "mcp:a%3Ab:c"]);

    // Two of one kind and name: the first keeps its ids.
    let (first, second) = (FakeSource::new(Source::Plugin, "p", &["x", "x", "y"]), FakeSource::new(Source::Plugin, "p", &["y", "z"]));
    let listing = listing(&sources(&[&first, &second])).await;
    let notes = listing.notes().to_vec();
    let catalog = listing.index(&All, SearchLimits::default());
    assert_eq!(ids(&catalog), ["plugin:p:x", "plugin:p:y", "plugin:p:z"]);
    assert_eq!(notes.len(), 2, "{notes:?}");
    call(&catalog, "y").await.unwrap();
    assert_eq!((first.calls().len(), second.calls().len()), (1, 0));
}

#[tokio::test]
async fn a_source_gives_only_tools_of_its_kind_with_names_that_can_be_called() {
    let server = FakeSource::new(Source::Mcp, "srv", &[]);
    let tool = |source, name: &str| Arc::new(Tool::new(source, "srv", name, "", json!({})));
    server.set_tools(vec![
        tool(Source::Openclaw, "exec"),
        tool(Source::Mcp, ""),
        tool(Source::Mcp, "a\nb"),
        tool(Source::Mcp, " a"),
        tool(Source::Mcp, &"x".repeat(257)),
        tool(Source::Mcp, "fine"),
    ]);
    let listing = listing(&sources(&[&server])).await;
    assert_eq!(listing.notes().len(), 5, "{:?}", listing.notes());
    assert_eq!(ids(&listing.index(&All, SearchLimits::default())), ["mcp:srv:fine"]);
}

#[tokio::test]
async fn pages_that_go_round_in_a_circle_are_no_list() {
    #[derive(Debug)]
    struct Circle(tokio::sync::watch::Sender<u64>);
    #[async_trait::async_trait]
    impl codemode::catalog::ToolSource for Circle {
        fn source(&self) -> Source {
            Source::Mcp
        }
        fn name(&self) -> &str {
            "circle"
        }
        async fn list(&self, _: Option<&str>) -> Result<codemode::catalog::ToolPage, codemode::catalog::ListFailure> {
            Ok(codemode::catalog::ToolPage { tools: vec![], next: Some("again".into()) })
        }
        async fn call(&self, _: &Arc<Tool>, _: Value, _: &CallContext) -> Result<Value, CallFailure> {
            unreachable!()
        }
        fn changed(&self) -> tokio::sync::watch::Receiver<u64> {
            self.0.subscribe()
        }
    }
    let sources = Sources::new();
    sources.add(Arc::new(Circle(tokio::sync::watch::Sender::new(0))));
    let catalog = view(&Arc::new(sources)).await;
    assert_eq!(catalog.summary().unavailable[0].reason, "its pages go round in a circle");
}

#[tokio::test]
async fn a_source_that_was_taken_away_is_called_no_more() {
    let server = FakeSource::new(Source::Mcp, "srv", &["a"]);
    let sources = sources(&[&server]);
    let catalog = view(&sources).await;
    sources.remove(Source::Mcp, "srv");
    assert_eq!(call(&catalog, "a").await.unwrap_err().code, CallCode::ToolUnavailable);
    assert!(ids(&view(&sources).await).is_empty() && server.calls().is_empty());
}

#[tokio::test]
async fn the_limits_of_a_configuration_are_the_searchs_own() {
    let names: Vec<String> = (0..60).map(|n| format!("tool_{n}")).collect();
    let server = FakeSource::new(Source::Mcp, "srv", &names.iter().map(String::as_str).collect::<Vec<_>>());
    let sources = sources(&[&server]);
    let rows = |limits, limit| {
        let sources = Arc::clone(&sources);
        async move {
            let catalog = listing(&sources).await.index(&All, limits);
            catalog.search(&SearchQuery { query: "tool".into(), limit }).await.unwrap().len()
        }
    };
    assert_eq!(rows(SearchLimits { usual: 3, most: 50 }, None).await, 3);
    assert_eq!(rows(SearchLimits { usual: 3, most: 50 }, Some(1_000)).await, 50);
    assert_eq!(rows(SearchLimits { usual: 3, most: 5 }, Some(0)).await, 1);
}
