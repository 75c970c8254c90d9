//! Whatever goes in: values come back equal or in their marked form, and any text ends in a verdict.
//!
//! Children are forks of a template here whatever the environment says: hundreds of cases then take seconds.

use std::time::{Duration, Instant};

use codemode::launch::LauncherChoice;
use codemode::{ErrorCode, RunReport, Supervisor};
use codemode_tests::rig::{self, demo, request};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Map, Value, json};
use tokio::runtime::{Builder, Runtime};

/// The deadline of one case. No value here needs a tenth of it, also on a busy machine; a text that loops takes all of it.
const WALL_MS: u64 = 2_000;
/// What the end of a run may take beyond its deadline: launching, killing, reaping.
const SLACK: Duration = Duration::from_secs(8);

struct Rig {
    runtime: Runtime,
    supervisor: Supervisor,
}

impl Rig {
    fn new() -> Rig {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime can be made");
        let supervisor = runtime.block_on(async { Supervisor::builder().launcher_choice(LauncherChoice::Template).build() });
        Rig { runtime, supervisor: supervisor.expect("children can be started on this host") }
    }

    fn run(&self, body: &str) -> RunReport {
        self.runtime.block_on(self.supervisor.run(request(body, WALL_MS), demo()))
    }
}

fn check<S: Strategy>(cases: u32, strategy: S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = Config { cases, max_shrink_iters: 200, failure_persistence: None, ..Config::default() };
    if let Err(failure) = TestRunner::new(config).run(&strategy, test) {
        panic!("{failure}");
    }
}

/// Numbers that both sides write alike: whole ones that a double holds, and fractions.
fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(Value::from),
        prop::num::f64::NORMAL.prop_filter("no whole numbers", |n| n.fract() != 0.0).prop_map(Value::from),
        Just(json!(0)),
        Just(json!(5e-324)),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,12}",
        "\\PC{0,8}",
        any::<String>().prop_map(|text| text.chars().take(12).collect()),
        Just("__proto__".into()),
        Just("toJSON".into()),
        Just("$map".into()),
        Just("\u{2028}\u{0}\"\\".into())
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), number(), text().prop_map(Value::from)];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..6).prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// A text as a string literal that every JavaScript reads.
fn literal(text: &str) -> String {
    serde_json::to_string(text).expect("a text is JSON").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

#[test]
fn any_json_comes_back_equal_as_value_log_and_argument() {
    let rig = Rig::new();
    check(200, any_json(), |value| {
        let body = format!(
            "const v = JSON.parse({});\nconst echoed = await openclaw.tools.call('demo:echo', {{ v }});\nconsole.log([v]);\nreturn [v, echoed.v];",
            literal(&value.to_string())
        );
        let report = rig.run(&body);
        prop_assert!(report.ok, "{body}\n{:?}", report.error);
        prop_assert_eq!(rig::json(&report), json!([&value, &value]));
        if report.logs[0].dropped == 0 {
            let logged: Value = serde_json::from_str(&report.logs[0].text).expect("an array is logged as JSON");
            prop_assert_eq!(logged, json!([&value]));
        }
        Ok(())
    });
}

/// An expression and what its value is marked as.
#[derive(Clone, Debug)]
struct Exotic {
    made: String,
    marked: Value,
}

fn exotic() -> impl Strategy<Value = Exotic> {
    let of = |made: &str, marked: Value| Just(Exotic { made: made.to_owned(), marked });
    let leaf = prop_oneof![
        of("undefined", Value::Null),
        of("NaN", json!({"$number": "NaN"})),
        of("-Infinity", json!({"$number": "-Infinity"})),
        of("-0", json!(0)),
        of("Symbol('s')", json!({"$symbol": "s"})),
        of("Symbol()", json!({"$symbol": ""})),
        of("function f() {}", json!({"$function": "f"})),
        of("(class K {})", json!({"$function": "K"})),
        of("(() => () => {})()", json!({"$function": ""})),
        of("new Date(86400000)", json!("1970-01-02T00:00:00.000Z")),
        of("new Date(NaN)", json!({"$unreadable": "invalid date"})),
        of("/a\\/b/gi", json!("/a\\/b/gi")),
        of("new ArrayBuffer(2)", json!({"$bytes": "AAA="})),
        of("new DataView(new ArrayBuffer(1))", json!({"$bytes": "AA=="})),
        of("new Int16Array([1, -2])", json!([1, -2])),
        of("Object('boxed')", json!("boxed")),
        of("Object(7n)", json!({"$bigint": "7"})),
        of("Promise.resolve(5)", json!(5)),
        of("new Promise(() => {})", json!({"$promise": "pending"})),
        of("new (class P { a = 1; get b() { return 2 } })()", json!({"a": 1})),
        of("({ get g() { throw new Error('shut') } })", json!({"g": {"$unreadable": "shut"}})),
        of("({ toJSON() { return [1] } })", json!([1])),
        of("Object.create(null, { x: { value: 1, enumerable: true } })", json!({"x": 1})),
        of("(() => { const o = {}; o.self = o; return o })()", Value::Null),
        of("'\\ud800'", json!("\u{fffd}")),
        of("(function () { return arguments })(1)", json!({"0": 1})),
        of("[, 1]", json!([null, 1])),
        of("new Proxy([1], {})", json!([1])),
        any::<i128>().prop_map(|n| Exotic { made: format!("({n}n)"), marked: json!({"$bigint": n.to_string()}) }),
        prop::collection::vec(any::<u8>(), 0..9)
            .prop_map(|bytes| Exotic { made: format!("new Uint8Array({bytes:?})"), marked: json!({"$bytes": base64(&bytes)}) }),
        text().prop_map(|text| Exotic {
            made: format!("new RangeError({})", literal(&text)),
            marked: json!({"$error": {"name": "RangeError", "message": text}})
        }),
    ]
    .prop_filter("a circle has its place in it", |leaf| !leaf.made.contains("o.self"));
    leaf.prop_recursive(4, 24, 4, |inner| {
        let some = || prop::collection::vec(inner.clone(), 0..4);
        let join = |parts: &[Exotic]| parts.iter().map(|part| part.made.as_str()).collect::<Vec<_>>().join(", ");
        let marked = |parts: &[Exotic]| parts.iter().map(|part| part.marked.clone()).collect::<Vec<_>>();
        prop_oneof![
            some().prop_map(move |parts| Exotic { made: format!("[{}]", join(&parts)), marked: json!(marked(&parts)) }),
            // The same primitive twice is one member: each is put in an array of its own.
            some().prop_map(move |parts| Exotic {
                made: format!("new Set([{}])", parts.iter().map(|part| format!("[{}]", part.made)).collect::<Vec<_>>().join(", ")),
                marked: json!({"$set": parts.iter().map(|part| json!([part.marked])).collect::<Vec<_>>()}),
            }),
            some().prop_map(move |parts| Exotic {
                made: format!(
                    "new Map([{}])",
                    parts.iter().enumerate().map(|(n, part)| format!("[{n}, {}]", part.made)).collect::<Vec<_>>().join(", ")
                ),
                marked: json!({"$map": parts.iter().enumerate().map(|(n, part)| json!([n, part.marked])).collect::<Vec<_>>()}),
            }),
            (some(), text()).prop_map(|(parts, name)| {
                // In JSON text `__proto__` is a field, in a literal of JavaScript it is not.
                let key = |n: usize| format!("k{n}{name}");
                Exotic {
                    made: format!(
                        "({{ {} }})",
                        parts
                            .iter()
                            .enumerate()
                            .map(|(n, part)| format!("[{}]: {}", literal(&key(n)), part.made))
                            .collect::<Vec<_>>()
                            .join(", ")
                    ),
                    marked: Value::Object(parts.iter().enumerate().map(|(n, part)| (key(n), part.marked.clone())).collect()),
                }
            }),
            inner.clone().prop_map(|cause| Exotic {
                made: format!("new Error('outer', {{ cause: {} }})", cause.made),
                marked: json!({"$error": {"name": "Error", "message": "outer", "cause": cause.marked}}),
            }),
        ]
    })
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letters = |chunk: &[u8]| {
        let n = chunk.iter().chain(&[0, 0]).take(3).fold(0_usize, |n, byte| n << 8 | usize::from(*byte));
        (0..4).map(|at| if at <= chunk.len() { char::from(LETTERS[n >> (18 - 6 * at) & 63]) } else { '=' }).collect::<String>()
    };
    bytes.chunks(3).map(letters).collect()
}

#[test]
fn any_exotic_value_comes_back_in_its_marked_form() {
    let rig = Rig::new();
    check(250, exotic(), |Exotic { made, marked }| {
        let report = rig.run(&format!("const v = [{made}];\nconsole.log(v);\nreturn v;"));
        prop_assert!(report.ok, "{made}: {:?}", report.error);
        prop_assert_eq!(rig::json(&report), json!([&marked]), "{}", made);
        if report.logs[0].dropped == 0 {
            let logged: Value = serde_json::from_str(&report.logs[0].text).expect("an array is logged as JSON");
            prop_assert_eq!(logged, json!([&marked]), "{}", made);
        }
        Ok(())
    });
}

/// What a body is made of, glued at random: it gets further than letters do.
fn salad() -> impl Strategy<Value = String> {
    const TOKENS: &[&str] = &[
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        ";",
        "\n",
        ",",
        "`",
        "${",
        "\"",
        "'",
        "/",
        "*",
        "/*",
        "*/",
        "//",
        "<!--",
        "-->",
        "\\",
        "=>",
        "async ",
        "await ",
        "return ",
        "function ",
        "yield ",
        "a",
        "b",
        "1",
        "=",
        "+",
        "++",
        ":",
        "?.",
        "...",
        "class ",
        "static ",
        "if ",
        "else ",
        "do ",
        "while(1)",
        "for(;;)",
        " of ",
        " in ",
        "let ",
        "const ",
        "new ",
        "this",
        "super",
        "import",
        "export ",
        "default ",
        "get ",
        "#x",
        "/a/g",
        "\u{2028}",
        "\r\n",
        "\u{feff}",
        "throw ",
        "try{",
        "}catch(e){",
        "}finally{",
        "arguments",
        " as ",
        "number",
        "<",
        ">",
        "!",
        "@",
        "})",
        "(async()=>{",
        "\n})",
        "enum ",
        "type ",
        "interface ",
        "\"use strict\"",
        "```",
        "~~~",
        "```js\n",
        "0n",
        "null",
        "openclaw.tools.",
        "call(",
        "search(",
        "\"demo:echo\"",
        "console.log(",
        "Promise.",
        "reject(1)",
        "resolve()",
        ".then(",
        "JSON.",
        "globalThis",
        ".constructor",
        "Error(",
        ".stack",
        "Symbol.",
        "Proxy",
        "Reflect.",
        "eval(",
        "x=x+x",
        "repeat(1e9)",
        "Array(1e9)",
        "throw null",
        "undefined",
    ];
    prop::collection::vec(prop::sample::select(TOKENS), 0..24).prop_map(|parts| parts.concat())
}

#[test]
fn any_text_ends_in_a_verdict() {
    let rig = Rig::new();
    let body = prop_oneof![3 => salad(), 1 => any::<String>(), 1 => "[\\x00-\\x7f]{0,60}", 1 => (salad(), any::<u16>()).prop_map(|(text, at)| {
        let at = usize::from(at) % (text.len() + 1);
        text.char_indices().take_while(|(start, _)| *start < at).map(|(_, c)| c).collect()
    })];
    check(500, body, |body| {
        let began = Instant::now();
        let report = rig.run(&body);
        prop_assert!(began.elapsed() <= Duration::from_millis(WALL_MS) + SLACK, "{body:?} took {:?}", began.elapsed());
        let verdict = report.error.as_ref().map(|error| error.code);
        let ours = matches!(
            verdict,
            Some(
                ErrorCode::InternalError
                    | ErrorCode::ProtocolViolation
                    | ErrorCode::IsolationViolation
                    | ErrorCode::ChildCrashed
                    | ErrorCode::IsolationUnavailable
                    | ErrorCode::NodeUnavailable
                    | ErrorCode::Busy
                    | ErrorCode::Cancelled
            )
        );
        prop_assert!(!ours, "{body:?}: {:?}", report.error);
        prop_assert_eq!(report.ok, verdict.is_none());
        prop_assert!(report.error.is_none_or(|error| !error.message.is_empty()), "a message says why");
        Ok(())
    });
}
