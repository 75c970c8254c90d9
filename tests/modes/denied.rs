//! A denied tool is nowhere: a table of surfaces and ways to name it, and random policies over random catalogs.

use std::collections::HashSet;
use std::sync::Arc;

use codemode::catalog::{CallCode, RunContext, Source, Sources, ToolSource};
use codemode::config::Config;
use codemode::gate::{Gate, Glob, Policy};
use codemode::modes::{Executor, Outcome, PlanRequest, Target, plan};
use codemode::telemetry::Recorder;
use codemode_tests::fake_source::FakeSource;
use codemode_tests::rig;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Gateway, in_mode};

const DENIED: &str = "mcp:mail:delete_email";
/// Ways to name the denied tool, and whether a name says enough for `denied` (a guess at a name that is not one is `unknown_tool`).
const NAMES: [&str; 7] =
    ["mcp:mail:delete_email", "delete_email", " delete_email\n", "DELETE_EMAIL", "MCP:MAIL:DELETE_EMAIL", "delete-email", "delete email"];
/// Ways of a model to a tool, by mode. `{}` is the name.
const WAYS: [(&str, &str, &str); 11] = [
    ("tools", "tool_call", r#"{"id": {}, "args": {}}"#),
    ("tools", "tool_describe", r#"{"id": {}}"#),
    ("tools", "{}", r#"{}"#),
    ("directory", "tool_call", r#"{"id": {}, "args": {}}"#),
    ("directory", "tool_describe", r#"{"id": {}}"#),
    ("directory", "{}", r#"{}"#),
    ("direct", "{}", r#"{}"#),
    ("direct", "tool_call", r#"{"id": {}, "args": {}}"#),
    ("code", "{}", r#"{}"#),
    ("code", "code: call", r#"{}"#),
    ("code", "code: describe", r#"{}"#),
];

fn executor(plan: codemode::modes::Plan) -> Executor {
    Executor::new(Arc::new(plan), Gate::new(), Recorder::default(), "r".into())
}

fn config_of(mode: &str) -> String {
    if mode == "direct" {
        "{tools: {deny: ['mcp:mail:delete_email']}}".into()
    } else {
        format!("{{tools: {{deny: ['{DENIED}'], toolSearch: {{mode: '{mode}'}}}}}}")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_tool_is_uncallable_through_every_surface_by_every_name() {
    let gateway = Gateway::new();
    let supervisor = rig::supervisor();
    let mut tried = 0;
    for (mode, way, args) in WAYS {
        let executor = executor(gateway.plan(&config_of(mode)).await).with_supervisor(supervisor.clone());
        for name in NAMES {
            let outcome = match way.strip_prefix("code: ") {
                Some(method) => {
                    let body = format!(
                        "return await openclaw.tools.{method}({}).then(() => 'let through', e => e.code + ' ' + e.message)",
                        json!(name)
                    );
                    executor.execute("tool_search_code", &json!({"code": body})).await
                }
                None => {
                    let args: Value = serde_json::from_str(&args.replace("{},", &format!("{},", json!(name))).replacen(
                        "{\"id\": {}",
                        &format!("{{\"id\": {}", json!(name)),
                        1,
                    ))
                    .unwrap();
                    executor.execute(&way.replace("{}", name), &args).await
                }
            };
            let told = outcome.for_model().to_string();
            assert!(
                told.contains("denied") || told.contains("unknown_tool") || told.contains("there is no tool"),
                "{mode} {way} {name:?}: {told}"
            );
            assert!(!told.contains("source mail") && !told.contains("let through"), "{mode} {way} {name:?} tells of it: {told}");
            if NAMES[..3].contains(&name) && (way.starts_with("tool_") && mode != "direct" || way.starts_with("code: ")) {
                assert!(told.contains("denied by policy"), "{mode} {way} {name:?}: {told}");
            }
            tried += 1;
        }
    }
    assert_eq!(tried, WAYS.len() * NAMES.len());
    assert!(gateway.server.calls().is_empty(), "{:?}", gateway.server.calls());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_ways_do_lead_to_a_tool_that_is_not_denied() {
    let gateway = Gateway::new();
    let supervisor = rig::supervisor();
    for (mode, name, args) in [
        ("tools", "tool_call", json!({"id": "send_email", "args": {"n": 1}})),
        ("directory", "tool_call", json!({"id": "mcp:mail:send_email", "args": {"n": 1}})),
        ("directory", "send_email", json!({"n": 1})),
        ("direct", "send_email", json!({"n": 1})),
        ("code", "tool_search_code", json!({"code": "return await openclaw.tools.call('send_email', {n: 1})"})),
    ] {
        let executor = executor(gateway.plan(&config_of(mode)).await).with_supervisor(supervisor.clone());
        let before = gateway.server.calls().len();
        let outcome = executor.execute(name, &args).await;
        assert!(outcome.for_model().to_string().contains(r#""tool":"send_email""#), "{mode}: {outcome:?}");
        assert_eq!(gateway.server.calls().len(), before + 1, "{mode}");
    }
}

#[tokio::test]
async fn a_denied_tool_is_invisible_in_every_surface() {
    let gateway = Gateway::new();
    for mode in ["code", "tools", "directory", "direct"] {
        let plan = gateway
            .plan_of(&config_of(mode), PlanRequest { prompt: "delete email".into(), required: vec![DENIED.into()], ..gateway.request() })
            .await;
        let shown = format!("{}{:?}", serde_json::to_string(&plan.surface.definitions).unwrap(), plan.surface.directory);
        assert!(!shown.contains("delete_email") && !shown.contains("delete email"), "{mode}: {shown}");
        let executor = executor(plan);
        let found = executor.execute("tool_search", &json!({"query": "delete email", "limit": 20})).await.for_model().to_string();
        assert!(!found.contains("delete_email"), "{mode}: {found}");
    }
}

#[tokio::test]
async fn a_policy_that_gets_narrower_is_felt_at_the_next_call() {
    let gateway = Gateway::new();
    let executor = executor(gateway.plan(&in_mode("tools")).await);
    let args = json!({"id": "send_email"});
    let call = || executor.execute("tool_call", &args);
    assert!(matches!(call().await, Outcome::Value(_)));
    let now = Config::from_bytes(b"{tools: {deny: ['mcp:*']}}", "c").unwrap();
    executor.plan().policy.replace(now.effective(&RunContext::default()).policy);
    assert!(matches!(call().await, Outcome::Failed(failure) if failure.code == CallCode::Denied));
    assert_eq!(gateway.server.calls().len(), 1);
}

/// A scope's lists over a small alphabet of ids, so that they hit and miss.
fn scope() -> impl Strategy<Value = (Option<Vec<String>>, Vec<String>)> {
    let glob = |of: Vec<&'static str>| prop::sample::select(of).prop_map(str::to_owned);
    // An allow list in one scope of eight, and wide ones: five scopes take away a lot together, and a case in which nothing is left shows little.
    let allow =
        prop::collection::vec(glob(vec!["*", "mcp:*", "plugin:*", "*:a", "*:b*", "*:c", "openclaw:core:*", "client:*", "nothing"]), 0..6);
    let deny = prop::collection::vec(
        glob(vec!["mcp:s?:c", "*:a", "*:b*", "mcp:s1:*", "*:d", "openclaw:*", "client:app:?", "plugin:p1:b", "mcp:*"]),
        0..2,
    );
    (prop::option::weighted(0.12, allow), deny)
}

fn rules((allow, deny): &(Option<Vec<String>>, Vec<String>)) -> Value {
    let mut rules = json!({"deny": deny});
    if let Some(allow) = allow {
        rules["allow"] = json!(allow);
    }
    json!({"tools": rules})
}

/// The rule again, in other words than the library's: the reference that it is held against.
fn permitted(scopes: &[&(Option<Vec<String>>, Vec<String>)], id: &str) -> bool {
    let any = |globs: &[String]| globs.iter().any(|glob| Glob::new(glob).matches(id));
    scopes.iter().all(|(allow, _)| allow.as_deref().is_none_or(any)) && !scopes.iter().any(|(_, deny)| any(deny))
}

fn catalog() -> impl Strategy<Value = Vec<(usize, Vec<String>)>> {
    let names = prop::collection::hash_set("[a-d]{1}|b_[xy]", 1..6).prop_map(|names| names.into_iter().collect::<Vec<_>>());
    prop::collection::vec((0_usize..5, names), 2..6)
}

#[test]
fn no_surface_ever_shows_or_calls_what_the_effective_policy_lacks() {
    const CASES: u32 = 256;
    let mixed = std::cell::Cell::new(0_u32);
    let runner = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let modes = prop::sample::select(vec!["code", "tools", "directory", "direct"]);
    let strategy = (catalog(), prop::collection::vec(scope(), 5), modes, any::<bool>());
    let mut test =
        proptest::test_runner::TestRunner::new(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() });
    test.run(&strategy, |(sources, scopes, mode, sandboxed)| {
        runner.block_on(async {
            let shelf = Sources::new();
            let mut client: Vec<Arc<dyn ToolSource>> = Vec::new();
            let mut fakes = Vec::new();
            let kinds = [(Source::Openclaw, "core"), (Source::Plugin, "p1"), (Source::Mcp, "s1"), (Source::Mcp, "s2"), (Source::Client, "app")];
            let mut used = HashSet::new();
            for (kind, names) in sources.iter().filter(|(kind, _)| used.insert(*kind)) {
                let (source, name) = kinds[*kind];
                let fake = FakeSource::new(source, name, &names.iter().map(String::as_str).collect::<Vec<_>>());
                if source == Source::Client { client.push(Arc::clone(&fake) as _) } else { shelf.add(Arc::clone(&fake) as _) }
                fakes.push((fake, source, name, names.clone()));
            }
            let mut gateway = rules(&scopes[0])["tools"].clone();
            if mode != "direct" {
                gateway["toolSearch"] = json!({"mode": mode});
            }
            let config = json!({"tools": gateway, "agents": {"a": rules(&scopes[1])}, "sandbox": rules(&scopes[2]), "sessions": {"s": rules(&scopes[3])}});
            let config = Config::from_bytes(config.to_string().as_bytes(), "c").unwrap();
            let globs = |globs: &[String]| globs.iter().map(|glob| Glob::new(glob)).collect::<Vec<_>>();
            let caller = Policy { allow: scopes[4].0.as_deref().map(globs), deny: globs(&scopes[4].1) };
            let context = RunContext { agent: Some("a".into()), session: Some("s".into()), sandbox: sandboxed, ..RunContext::default() };
            let in_force: Vec<_> = scopes.iter().enumerate().filter(|(index, _)| *index != 2 || sandboxed).map(|(_, scope)| scope).collect();

            let all: Vec<(String, String)> = fakes.iter().flat_map(|(_, source, place, names)| names.iter().map(move |name| (format!("{}:{place}:{name}", source.as_str()), name.clone()))).collect();
            let allowed: HashSet<&str> = all.iter().map(|(id, _)| id.as_str()).filter(|id| permitted(&in_force, id)).collect();
            if !allowed.is_empty() && allowed.len() < all.len() {
                mixed.set(mixed.get() + 1);
            }

            let required = all.iter().map(|(id, _)| id.clone()).collect();
            let plan = plan(&config, &Arc::new(shelf), PlanRequest { context, client, policy: caller, required, prompt: "the tool of the source".into(), ..PlanRequest::default() }).await;
            // Shown: the catalog, every definition, every line of the directory.
            let seen: HashSet<&str> = plan.catalog.tools().tools().iter().map(|tool| tool.id.as_str()).collect();
            prop_assert_eq!(&seen, &allowed);
            for definition in &plan.surface.definitions {
                if let Some(Target::Tool(tool)) = plan.surface.target(&definition.name) {
                    prop_assert!(allowed.contains(tool.id.as_str()), "{} is shown", tool.id);
                }
            }
            if let Some(directory) = &plan.surface.directory {
                for (id, name) in all.iter().filter(|(id, _)| !allowed.contains(id.as_str())) {
                    let is_line = |called: &str| directory.lines().any(|line| line.strip_prefix("- ").is_some_and(|line| line == called || line.starts_with(&format!("{called}: "))));
                    prop_assert!(!is_line(id), "{id} is listed");
                    let others = allowed.iter().any(|other| other.ends_with(&format!(":{name}")));
                    prop_assert!(others || !is_line(name), "{name} is listed");
                }
            }
            // Called: by id and by bare name, through every name a model may try.
            let executor = executor(plan);
            for (id, name) in &all {
                for called in [id, name] {
                    executor.execute("tool_call", &json!({"id": called, "args": {}})).await;
                    executor.execute(called, &json!({})).await;
                }
                executor.execute("tool_describe", &json!({"id": id})).await;
                if let Outcome::Value(rows) = executor.execute("tool_search", &json!({"query": name, "limit": 20})).await {
                    for row in rows.as_array().unwrap() {
                        prop_assert!(allowed.contains(row["id"].as_str().unwrap()), "{row} is found");
                    }
                }
                if !allowed.contains(id.as_str()) && mode != "code" && mode != "direct" {
                    let Outcome::Failed(failure) = executor.execute("tool_call", &json!({"id": id})).await else { panic!("{id} was called") };
                    prop_assert_eq!(failure.code, CallCode::Denied);
                }
            }
            for (fake, source, place, _) in &fakes {
                for (name, _) in fake.calls() {
                    let id = format!("{}:{place}:{name}", source.as_str());
                    prop_assert!(allowed.contains(id.as_str()), "{id} was called");
                }
            }
            Ok(())
        })
    })
    .unwrap();
    let mixed = mixed.get();
    println!("{mixed} of {CASES} cases had both allowed and denied tools");
    assert!(mixed * 3 >= CASES, "{mixed} of {CASES} cases had both allowed and denied tools");
}
