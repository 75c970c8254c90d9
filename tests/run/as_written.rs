//! Bodies as models write them: they run, or the error alone is enough to mend them.

use codemode::{ErrorCode, RunReport};
use codemode_tests::rig::{self, code, demo, message};
use serde_json::{Value, json};

const FENCE: &str = "```";

async fn value(body: &str) -> Value {
    rig::value(&rig::supervisor(), body, demo()).await
}

fn place(report: &RunReport) -> Option<(u64, u64)> {
    report.error.as_ref().and_then(|error| Some((error.line?, error.column?)))
}

fn logs(report: &RunReport) -> Vec<&str> {
    report.logs.iter().map(|entry| entry.text.as_str()).collect()
}

#[test]
fn p01_a_fence_and_an_arrow_function_are_the_body() {
    rig::together(async {
        let supervisor = rig::supervisor();
        let arrow = r#"async () => { return (await openclaw.tools.call("demo:echo", {a: 1})).a; };"#;
        let fenced = format!("{FENCE}\n\n{arrow}\n\n{FENCE}");
        for (body, wanted) in [(format!("{FENCE}js\nreturn 1 + 1;\n{FENCE}"), 2), (arrow.to_owned(), 1), (fenced, 1)] {
            assert_eq!(rig::value(&supervisor, &body, demo()).await, wanted, "{body}");
        }
        let prose = rig::run(&supervisor, &format!("Here it is:\n\n{FENCE}js\nreturn 1\n{FENCE}\n")).await;
        assert_eq!((code(&prose), place(&prose)), (Some(ErrorCode::SyntaxError), Some((1, 1))));
        assert!(message(&prose).contains("send only the code that is inside the fence"), "{}", message(&prose));
    });
}

#[test]
fn p02_a_bare_expression_is_the_value() {
    rig::together(async {
        let supervisor = rig::supervisor();
        let echo = r#"await openclaw.tools.call("demo:echo", {k: "v"})"#;
        let cases =
            [("1 + 1", json!(2)), ("({ n: 3 })", json!({"n": 3})), (echo, json!({"k": "v"})), (&format!("{echo};"), json!({"k": "v"}))];
        for (body, wanted) in cases {
            assert_eq!(rig::value(&supervisor, body, demo()).await, wanted, "{body}");
        }
    });
}

#[test]
fn p03_a_last_expression_over_several_lines() {
    rig::together(async {
        let body =
            "const a = await openclaw.tools.call(\"demo:echo\", { n: 1 });\nconsole.log(JSON.stringify({\n  a,\n  list: [1,\n    2],\n}));";
        let report = rig::run(&rig::supervisor(), body).await;
        assert!(report.ok, "{report:?}");
        assert_eq!(logs(&report), [r#"{"a":{"n":1},"list":[1,2]}"#]);
    });
}

#[test]
fn p04_work_that_was_started_and_not_awaited_is_waited_for() {
    rig::together(async {
        let supervisor = rig::supervisor();
        let then = r#"openclaw.tools.call("demo:slow", {ms: 200}).then(r => console.log("got", r.done));"#;
        let report = rig::run(&supervisor, then).await;
        assert!(report.ok && logs(&report) == ["got 200"], "{report:?}");
        // With a value the body has said its last word, and what is left out is told.
        let report = rig::run(&supervisor, &format!("{then} return 1")).await;
        assert!(report.ok && logs(&report)[0].contains("after the return of the body left out"), "{report:?}");
    });
}

#[test]
fn p05_types_are_removed_and_what_is_more_than_types_is_refused_by_name() {
    rig::together(async {
        let supervisor = rig::supervisor();
        let typed = "const n: number = 3; interface Row { id: string } return n as number;";
        assert_eq!(rig::value(&supervisor, typed, demo()).await, 3);
        for (body, name) in
            [("enum A { X } return A.X", "enum"), ("namespace N { export const a = 1 }", "namespace"), ("@d class A {}", "decorator")]
        {
            let report = rig::run(&supervisor, body).await;
            assert_eq!(code(&report), Some(ErrorCode::SyntaxError));
            assert!(message(&report).contains(name), "{}", message(&report));
        }
    });
}

#[test]
fn p06_the_word_import_in_a_text_or_comment_is_no_import() {
    rig::together(async {
        let supervisor = rig::supervisor();
        let python = "// import x from 'y'\nconst py = \"from pathlib import Path\"; return py;";
        assert_eq!(rig::value(&supervisor, python, demo()).await, "from pathlib import Path");
        let report = rig::run(&supervisor, "\nawait import(\"node:fs\")").await;
        assert_eq!((code(&report), place(&report)), (Some(ErrorCode::SyntaxError), Some((2, 7))));
    });
}

#[test]
fn p07_there_are_no_timers_and_the_error_says_so() {
    rig::together(async {
        let body = r#"for (let i = 0; i < 3; i++) { await new Promise(r => setTimeout(r, 50)); await openclaw.tools.call("demo:count", {}); } return "ok";"#;
        let report = rig::run(&rig::supervisor(), body).await;
        assert_eq!(code(&report), Some(ErrorCode::BodyError));
        assert!(message(&report).contains("there are no timers here") && report.calls.is_empty(), "{report:?}");
    });
}

#[test]
fn p08_errors_name_the_line_of_the_body_and_no_file_of_ours() {
    rig::together(async {
        let supervisor = rig::supervisor();
        let cases = [
            ("const a = 1;\nconst b = 2;\nconst c = null;\nreturn c.x;".to_owned(), (4, 10)),
            ("const a = 1;\nconst b = 2;\nconst c = ;".to_owned(), (3, 11)),
            (format!("\u{feff}{FENCE}ts\r\nconst a: any = null;\r\nreturn [\r\n  a.x]\r\n{FENCE}"), (4, 5)),
            ("return [\n  1,\n  nosuch,\n]".to_owned(), (3, 3)),
            ("async () => {\n  const x = [1, 2;\n}".to_owned(), (2, 18)),
            ("return (\n\n\n".to_owned(), (1, 9)),
        ];
        for (body, wanted) in cases {
            let report = rig::run(&supervisor, &body).await;
            assert_eq!(place(&report), Some(wanted), "{body}: {report:?}");
            let stack = report.error.as_ref().and_then(|error| error.stack.clone()).unwrap_or_default();
            for frame in stack.lines().filter(|line| line.trim_start().starts_with("at ")) {
                assert!(frame.contains("body.js:") && !frame.contains("codemode:"), "{stack}");
            }
        }
        let report = rig::run(&supervisor, "const c = null;\nreturn c.x;").await;
        assert!(message(&report).starts_with("Cannot read properties of null (reading 'x')"), "{}", message(&report));
    });
}

#[test]
fn p09_the_promised_functions_are_there_and_give_native_values() {
    rig::together(async {
        let body = r#"const [h] = await openclaw.tools.search("echo", {limit: 1}); const d = await openclaw.tools.describe(h.id); const r = await openclaw.tools.call(h.id, {n: 5}); return [typeof openclaw.tools.search, typeof d, r.n + 1];"#;
        assert_eq!(value(body).await, json!(["function", "object", 6]));
    });
}

#[test]
fn p10_what_is_used_by_habit_fails_with_what_is_there_instead() {
    rig::together(async {
        let supervisor = rig::supervisor();
        for body in [
            r#"return await fetch("http://127.0.0.1:9/")"#,
            "return process.env.HOME",
            r#"return require("fs")"#,
            r#"const { readFileSync } = await import("fs"); return readFileSync("/etc/hostname", "utf8")"#,
            r#"return await globalThis.fetch("http://127.0.0.1:9/")"#,
            "return globalThis.process.env.HOME",
            r#"return await tools.echo({})"#,
            r#"return await openclaw.tools.echo({})"#,
            r#"return await get_weather({})"#,
        ] {
            let report = rig::run(&supervisor, body).await;
            assert!(!report.ok && report.calls.is_empty(), "{body}: {report:?}");
            assert!(message(&report).contains("`await openclaw.tools.call(id, args)`"), "{body}: {}", message(&report));
        }
        assert_eq!(rig::value(&supervisor, "return typeof fetch", demo()).await, "undefined");
    });
}
