//! Properties of this crate: each written once, used by the property tests, the fuzz targets and the replay of the corpus.
//!
//! A property takes arbitrary input and panics when this crate breaks its word. Input that means nothing is not skipped: it has to be refused, and the refusal
//! has to say where.

use std::time::Duration;

use serde_json::Value;

use crate::catalog::{CallCode, FileCatalog, Permission, Place, RunContext, Schema, Source, Tool, example_of};
use crate::config::{Config, ToolSearch};
use crate::gate::check_arguments;

/// Any events of a run, three bytes each, in any order.
pub fn state(bytes: &[u8]) {
    crate::run::state::property::of_bytes(bytes);
}

/// Messages between a gateway and a worker: what a hostile end sends, or the steps of two honest ones and a network between.
pub fn fleet(bytes: &[u8]) {
    crate::fleet::property::of_bytes(bytes);
}

/// Characters of a row's type and of a signature that may stand beyond their bounds: the last name or text begun within them, and what closes the brackets.
const LAST_WORD: usize = 2_000;
/// Bytes of a type in a row, of a signature's two types, and these words.
const MOST_SIGNATURE_BYTES: usize = 2 * 2_000 + 2 * LAST_WORD;
const MOST_INPUT_BYTES: usize = 400 + LAST_WORD;

/// A file of tools: refused with a place inside it, or a catalog in which every tool can be found, shown, described and called.
pub fn catalog_file(text: &str) {
    let catalog = match FileCatalog::from_str(text, "file") {
        Ok(catalog) => catalog,
        Err(error) => {
            is_inside(text, error.place);
            assert!(error.to_string().len() < 4_096, "an error is short");
            return;
        }
    };
    for tool in catalog.tools().tools() {
        let found = catalog.tools().resolve(&tool.id).expect("a tool is found by its id");
        assert_eq!(found.id, tool.id);
        shown(tool);
    }
}

/// A schema and arguments, with a line break between: whatever they are, the check ends, and says yes or no.
pub fn arguments(text: &str) {
    let (schema, args) = text.split_once('\n').unwrap_or((text, "{}"));
    let Ok(schema) = serde_json::from_str::<Value>(schema) else { return };
    let args = serde_json::from_str::<Value>(args).unwrap_or(Value::Null);
    let tool = Tool::new(Source::Mcp, "server", "tool", "", Schema::from(schema));
    shown(&tool);
    match check_arguments(&tool, args.clone()) {
        Ok(checked) => {
            assert!(checked.args.is_object());
            let validator = tool.parameters.validator().expect("it was used");
            assert!(validator.is_valid(&checked.args), "what goes fits");
            if checked.decoded.is_empty() {
                assert!(args == checked.args || args.is_null(), "what was not decoded goes as it came");
            }
            let again = check_arguments(&tool, checked.args.clone()).expect("what fitted fits");
            assert_eq!(again.args, checked.args);
        }
        Err(failure) => {
            let codes = [CallCode::InvalidArguments, CallCode::TooLarge, CallCode::ToolUnavailable];
            assert!(codes.contains(&failure.code), "{:?}", failure.code);
            assert!(failure.message.len() < 8_192, "{} bytes", failure.message.len());
        }
    }
}

fn shown(tool: &Tool) {
    let row = tool.row();
    let input = row["input"].as_str().expect("a text");
    assert!(input.len() <= MOST_INPUT_BYTES && !input.contains('\n'), "{} bytes", input.len());
    let described = tool.description_value();
    let signature = described["signature"].as_str().expect("a text");
    assert!(signature.len() <= MOST_SIGNATURE_BYTES && !signature.contains('\n'), "{} bytes", signature.len());
    assert_eq!(&described["parameters"], tool.parameters.value(), "the exact schema");
    // It need not fit: it has to end.
    drop(example_of(tool.parameters.value()));
}

/// A configuration: refused with a place inside it, or one whose every number is in its range and whose policy only ever takes away.
pub fn config(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let config = match Config::from_bytes(bytes, "file") {
        Ok(config) => config,
        Err(error) => {
            is_inside(&text, error.place);
            assert!(error.to_string().len() < 16_384, "an error is short");
            return;
        }
    };
    for clamp in &config.clamps {
        is_inside(&text, Some(clamp.place));
        let (least, most) = clamp.range;
        assert!((least..=most).contains(&clamp.used) && i64::try_from(clamp.used) != Ok(clamp.given), "{clamp}");
    }
    let context = RunContext {
        agent: config.agents.keys().next().map(|id| id.as_str().into()),
        profile: config.profiles.keys().next().map(|id| id.as_str().into()),
        session: config.sessions.keys().next().map(|id| id.as_str().into()),
        channel: config.channels.keys().next().map(|id| id.as_str().into()),
        runtime: config.runtimes.keys().next().map(|id| id.as_str().into()),
        sandbox: true,
        harness: None,
    };
    let (narrow, wide) = (config.effective(&context), config.effective(&RunContext::default()));
    for search in [narrow.tool_search, wide.tool_search].into_iter().flatten() {
        in_range(&search);
    }
    let allowed = config.tools.policy.allow.iter().flatten().chain(&config.tools.policy.deny).map(ToString::to_string);
    for id in allowed.chain(["mcp:server:tool".to_owned(), String::new(), "*".to_owned()]) {
        assert_eq!(wide.policy.permits(&id), config.tools.policy.permits(&id), "without ids the rules for all are the policy");
        assert!(!narrow.policy.permits(&id) || wide.policy.permits(&id), "a scope only takes away");
    }
}

fn in_range(search: &ToolSearch) {
    assert!((Duration::from_secs(1)..=Duration::from_secs(60)).contains(&search.code_timeout));
    assert!((1..=50).contains(&search.max_limit) && (1..=search.max_limit).contains(&search.default_limit));
}

/// A place is one of the text, or right behind its end.
fn is_inside(text: &str, place: Option<Place>) {
    let Some(Place { line, column }) = place else { return };
    let lines = text.split('\n').count();
    assert!((1..=lines).contains(&line), "line {line} of {lines}");
    let characters = text.split('\n').nth(line - 1).map_or(0, |line| line.chars().count());
    assert!((1..=characters + 1).contains(&column), "column {column} of {characters}, line {line}");
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use proptest::prelude::*;

    /// Runs a property over every kept input of a fuzz target; a target without inputs is a mistake.
    fn replay(target: &str, property: impl Fn(&[u8])) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
        let mut count = 0;
        for entry in fs::read_dir(&folder).expect("the corpus of the target") {
            property(&fs::read(entry.expect("an entry").path()).expect("a readable input"));
            count += 1;
        }
        assert!(count >= 8, "only {count} inputs for {target}");
    }

    #[test]
    fn the_corpus_of_each_target_still_passes() {
        let text = |property: fn(&str)| move |input: &[u8]| property(&String::from_utf8_lossy(input));
        replay("state", super::state);
        replay("fleet", super::fleet);
        replay("config", super::config);
        replay("catalog_file", text(super::catalog_file));
        replay("arguments", text(super::arguments));
    }

    /// Texts that are nearly what is wanted: pieces of it in any order.
    fn pieces(of: &'static [&'static str]) -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(of), 0..40).prop_map(|pieces| pieces.concat())
    }

    const JSON: &[&str] = &[
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"a\"",
        "\"\"",
        "1",
        "-1",
        "1e400",
        "null",
        "true",
        "'x'",
        "// c\n",
        "\n",
        " ",
        "\u{feff}",
        "\\u0000",
        "0x10",
        "Infinity",
        "\"\u{1}\"",
    ];
    const CATALOG: &[&str] = &[
        "[{name:'a',description:'',parameters:{}}",
        ",{id:'a',name:'a',description:'x',parameters:{type:'object'}}",
        "]",
        "[",
        "{",
        "}",
        ",",
        "name:'b',",
        "\"parameters\":{\"type\":\"string\"},",
        "reply:{value:1},",
        "reply:{repeat:'n'},",
        "\n",
        "/*",
        "*/",
        "\"\\ud800\"",
    ];
    const CONFIG: &[&str] = &[
        "{",
        "}",
        "tools:{",
        "agents:{main:{tools:{",
        "toolSearch:{",
        "toolSearch:true,",
        "mode:'code',",
        "codeTimeoutMs:0,",
        "maxSearchLimit:999,",
        "allow:['*'],",
        "deny:['mcp:*'],",
        "allow:[],",
        "approvals:{'*':'ask'},",
        "hooks:{",
        "sandbox:{tools:{",
        "}},",
        "\n",
        "1e9,",
        "-5,",
    ];
    const SCHEMA: &[&str] = &[
        "{\"type\":\"object\",",
        "\"properties\":{\"a\":",
        "{\"$ref\":\"#\"}",
        "\"$defs\":{\"a\":",
        "{\"type\":\"array\",\"items\":",
        "\"anyOf\":[",
        "\"required\":[\"a\"]",
        "\"pattern\":\"(a+)+$\"",
        "{}",
        "true",
        "}",
        "]",
        ",",
        "\n",
        "{\"a\":1}",
        "{\"a\":\"[1]\"}",
    ];

    proptest! {
        #[test]
        fn any_text_is_a_catalog_or_refused(text in prop_oneof![pieces(JSON), pieces(CATALOG), ".{0,60}"]) {
            super::catalog_file(&text);
        }

        #[test]
        fn any_bytes_are_a_configuration_or_refused(text in prop_oneof![pieces(JSON), pieces(CONFIG), ".{0,60}"], cut in 0usize..200) {
            super::config(text.as_bytes());
            super::config(&text.as_bytes()[..cut.min(text.len())]);
        }

        #[test]
        fn any_schema_checks_any_arguments_or_refuses(text in prop_oneof![pieces(JSON), pieces(SCHEMA)]) {
            super::arguments(&text);
        }
    }
}
