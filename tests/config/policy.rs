//! The policy of a run out of every scope.

use codemode::catalog::Permission;
use codemode::config::{Config, LivePolicy, Mode, RunContext, Scope};
use codemode::gate::{Glob, Policy};

use super::read;

const ALL: &str = "{
    tools: {deny: ['*:root']},
    profiles: {p: {tools: {allow: ['a:*', 'b:*']}}},
    agents: {g: {tools: {deny: ['a:1']}}, nothing: {tools: {allow: []}}},
    sandbox: {tools: {deny: ['b:*']}},
    runtimes: {r: {tools: {deny: ['a:2']}}},
    channels: {c: {tools: {allow: ['a:*', 'c:*']}}},
    sessions: {s: {tools: {deny: ['a:3'], toolSearch: {mode: 'directory'}}}},
}";

fn context() -> RunContext {
    RunContext::default()
}

fn left(config: &Config, context: &RunContext) -> Vec<&'static str> {
    let policy = config.effective(context).policy;
    ["a:1", "a:2", "a:3", "a:4", "b:1", "c:1", "a:root"].into_iter().filter(|id| policy.permits(id)).collect()
}

#[test]
fn every_scope_takes_away_and_none_gives_back() {
    let config = read(ALL);
    assert_eq!(left(&config, &context()), ["a:1", "a:2", "a:3", "a:4", "b:1", "c:1"]);
    let profile = RunContext { profile: Some("p".into()), ..context() };
    assert_eq!(left(&config, &profile), ["a:1", "a:2", "a:3", "a:4", "b:1"]);
    assert_eq!(left(&config, &RunContext { agent: Some("g".into()), ..profile.clone() }), ["a:2", "a:3", "a:4", "b:1"]);
    assert_eq!(left(&config, &RunContext { sandbox: true, ..profile.clone() }), ["a:1", "a:2", "a:3", "a:4"]);
    assert_eq!(left(&config, &RunContext { runtime: Some("r".into()), ..profile.clone() }), ["a:1", "a:3", "a:4", "b:1"]);
    assert_eq!(left(&config, &RunContext { channel: Some("c".into()), ..context() }), ["a:1", "a:2", "a:3", "a:4", "c:1"]);
    assert_eq!(left(&config, &RunContext { channel: Some("c".into()), ..profile.clone() }), ["a:1", "a:2", "a:3", "a:4"]);
    let everything = RunContext {
        agent: Some("g".into()),
        session: Some("s".into()),
        channel: Some("c".into()),
        runtime: Some("r".into()),
        sandbox: true,
        ..profile
    };
    assert_eq!(left(&config, &everything), ["a:4"]);
}

#[test]
fn an_empty_allow_list_is_nothing_and_an_unknown_id_no_scope() {
    let config = read(ALL);
    assert!(left(&config, &RunContext { agent: Some("nothing".into()), ..context() }).is_empty());
    assert_eq!(left(&config, &RunContext { agent: Some("stranger".into()), ..context() }), left(&config, &context()));
}

#[test]
fn the_narrowest_scope_says_how_the_catalog_is_shown() {
    let config = read(ALL);
    assert_eq!(config.effective(&context()).tool_search, None);
    let session = config.effective(&RunContext { session: Some("s".into()), ..context() });
    assert_eq!(session.tool_search.unwrap().mode, Mode::Directory);
    let both = read(
        "{tools: {toolSearch: true}, agents: {a: {tools: {toolSearch: {mode: 'tools'}}}}, sessions: {s: {tools: {toolSearch: false}}}}",
    );
    let agent = RunContext { agent: Some("a".into()), ..context() };
    assert_eq!(both.effective(&agent).tool_search.unwrap().mode, Mode::Tools);
    assert_eq!(both.effective(&RunContext { session: Some("s".into()), ..agent }).tool_search, None);
}

#[test]
fn who_refuses_is_known_to_those_who_run_the_gateway() {
    let config = read(ALL);
    let policy = config.effective(&RunContext { agent: Some("g".into()), ..context() }).policy;
    assert_eq!(policy.refused_by("a:1").unwrap().to_string(), "agents.g");
    assert_eq!(policy.refused_by("x:root"), Some(&Scope::Gateway));
    assert_eq!(policy.refused_by("a:2"), None);
    let caller = policy.and(Scope::Caller, Policy { allow: None, deny: vec![Glob::new("a:2")] });
    assert_eq!(caller.refused_by("a:2"), Some(&Scope::Caller));
}

#[test]
fn a_live_policy_is_what_was_said_last() {
    let live = LivePolicy::new(read(ALL).effective(&context()).policy);
    assert!(live.permits("c:1"));
    live.replace(read("{tools: {deny: ['c:*']}}").effective(&context()).policy);
    assert!(!live.permits("c:1") && live.permits("a:root"));
}
