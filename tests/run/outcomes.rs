//! What comes back of a body, and what its calls do.

use codemode::catalog::FileCatalog;
use codemode::{CallState, ErrorCode};
use codemode_tests::rig::{self, catalog, code, demo, json, message, request};
use serde_json::json;

#[test]
fn p11_values_that_json_cannot_carry_are_marked() {
    rig::together(async {
        let body = r#"return { big: 2n ** 64n, set: new Set([1, 2]), map: new Map([["a", 1]]), nan: NaN, inf: -Infinity, u: undefined, d: new Date(0), bytes: new Uint8Array([65, 66]), err: new TypeError("x") };"#;
        let wanted = json!({
            "big": {"$bigint": "18446744073709551616"}, "set": {"$set": [1, 2]}, "map": {"$map": [["a", 1]]}, "nan": {"$number": "NaN"},
            "inf": {"$number": "-Infinity"}, "u": null, "d": "1970-01-01T00:00:00.000Z", "bytes": {"$bytes": "QUI="},
            "err": {"$error": {"name": "TypeError", "message": "x"}},
        });
        let report = rig::run(&rig::supervisor(), body).await;
        assert_eq!(json(&report), wanted);
        let keys: Vec<_> = json(&report).as_object().expect("an object").keys().cloned().collect();
        assert_eq!(keys, ["big", "set", "map", "nan", "inf", "u", "d", "bytes", "err"], "as the body wrote them");
    });
}

#[test]
fn p12_promises_in_the_result_are_their_values_or_marked_with_advice() {
    rig::together(async {
        let supervisor = rig::supervisor();
        let body = r#"return ["a", "b"].map(x => openclaw.tools.call("demo:echo", { x }));"#;
        assert_eq!(rig::value(&supervisor, body, demo()).await, json!([{"x": "a"}, {"x": "b"}]));
        let report = rig::run(&supervisor, "return [new Promise(() => {})]").await;
        assert_eq!(json(&report), json!([{"$promise": "pending"}]));
        assert!(report.logs[0].text.contains("await each"), "{:?}", report.logs);
        let report = rig::run(&supervisor, r#"const r = openclaw.tools.call("demo:echo", {a: 1}); return r.a"#).await;
        assert!(report.ok && report.logs[0].text.contains("not awaited"), "{report:?}");
    });
}

#[test]
fn p15_what_was_thrown_is_told_whatever_it_is() {
    rig::together(async {
        let supervisor = rig::supervisor();
        for (body, told) in [
            (r#"throw { code: "CARD_DECLINED", retry: false };"#, "CARD_DECLINED"),
            ("throw null", "thrown: null"),
            ("throw undefined", "thrown: undefined"),
            (r#"throw "just text""#, "just text"),
            ("throw new Map([[1, 2n]])", r#"{"$map":[[1,{"$bigint":"2"}]]}"#),
        ] {
            let report = rig::run(&supervisor, body).await;
            assert_eq!(code(&report), Some(ErrorCode::BodyError));
            assert!(message(&report).contains(told), "{body}: {}", message(&report));
        }
        let body = r#"throw Object.assign(new AggregateError([new Error("one")], "several", { cause: "why" }), { code: "E" })"#;
        let error = rig::run(&supervisor, body).await.error.expect("it threw");
        let data: serde_json::Value = serde_json::from_str(error.data.expect("fields").text()).expect("JSON");
        assert_eq!(data, json!({"code": "E", "cause": "why", "errors": [{"$error": {"name": "Error", "message": "one"}}]}));
    });
}

#[test]
fn p18_a_tool_error_is_thrown_and_nothing_after_it_is_dispatched() {
    rig::together(async {
        let supervisor = rig::supervisor();
        let tools = demo();
        let body = r#"await openclaw.tools.call("demo:iserr", {}); await openclaw.tools.call("demo:count", {}); return "saved";"#;
        let report = supervisor.run(request(body, 5_000), tools.clone()).await;
        assert_eq!(code(&report), Some(ErrorCode::BodyError));
        assert!(message(&report).contains("bad input"));
        let reached: Vec<_> = tools.dispatched().into_iter().map(|dispatch| dispatch.tool_id).collect();
        assert_eq!(reached, ["demo:iserr"]);
        let caught =
            r#"try { await openclaw.tools.call("demo:iserr", {}) } catch (e) { return [e instanceof Error, e.message, e.code, e.toolId] }"#;
        assert_eq!(rig::value(&supervisor, caught, demo()).await, json!([true, "bad input", "tool_error", "demo:iserr"]));
    });
}

#[test]
fn p19_an_object_sent_as_text_is_decoded_where_an_object_is_wanted_and_nowhere_else() {
    rig::together(async {
        let supervisor = rig::supervisor();
        let decoded = r#"return await openclaw.tools.call("demo:edit", { fields: "{\"a\":1}", note: "{\"a\":1}" });"#;
        assert_eq!(rig::value(&supervisor, decoded, demo()).await, json!({"fields": {"a": 1}, "note": "{\"a\":1}"}));
        let report = rig::run(&supervisor, r#"return await openclaw.tools.call("demo:edit", { fields: "nope" });"#).await;
        let told = message(&report);
        assert!(["fields", "object", "string"].iter().all(|word| told.contains(word)), "{told}");
        assert_eq!(report.calls[0].state, CallState::Refused);
    });
}

#[test]
fn p20_no_arguments_are_an_empty_object() {
    rig::together(async {
        let tools = demo();
        let body = r#"await openclaw.tools.call("demo:echo"); await openclaw.tools.call("demo:echo", undefined); await openclaw.tools.call("demo:echo", null); return 1;"#;
        assert_eq!(json(&rig::supervisor().run(request(body, 5_000), tools.clone()).await), 1);
        let args: Vec<_> = tools.dispatched().into_iter().map(|dispatch| dispatch.args).collect();
        assert_eq!(args, [Some(json!({})), Some(json!({})), Some(json!({}))]);
    });
}

#[test]
fn p21_blanks_around_an_id_do_not_matter_and_a_miss_is_quoted() {
    rig::together(async {
        let supervisor = rig::supervisor();
        let trimmed = r#"return await openclaw.tools.call(" demo:echo\n", { a: 1 });"#;
        assert_eq!(rig::value(&supervisor, trimmed, demo()).await, json!({"a": 1}));
        for (call, told) in [
            (r#"describe("demo:ecko")"#, r#"there is no tool "demo:ecko"; near ones: "demo:echo""#),
            (r#"call("", {})"#, r#"there is no tool """#),
            ("call(undefined, {})", "the id must be a string, got undefined"),
        ] {
            let report = rig::run(&supervisor, &format!("await openclaw.tools.{call}")).await;
            assert!(message(&report).contains(told), "{call}: {}", message(&report));
        }
    });
}

#[test]
fn p22_names_with_dots_dashes_and_slashes_are_called_by_the_id_that_search_gives() {
    rig::together(async {
        let names = ["vercel.deploy", "vercel-deploy", "a/b", "sök"];
        let tools: Vec<_> = names
            .iter()
            .map(|name| json!({"name": name, "source": "mcp", "sourceName": "s", "description": "", "parameters": {"type": "object"}, "reply": {"value": name}}))
            .collect();
        let body = r#"
        const found = [];
        for (const name of ["vercel.deploy", "vercel-deploy", "a/b", "sök"]) {
            const rows = await openclaw.tools.search(name);
            const row = rows.find((row) => row.name === name);
            const tool = await openclaw.tools.describe(row.id);
            found.push([row.id, tool.name, await openclaw.tools.call(row.id)]);
        }
        return found;"#;
        let value = rig::value(&rig::supervisor(), body, catalog(&json!(tools).to_string())).await;
        let wanted: Vec<_> = names.iter().map(|name| json!([format!("mcp:s:{name}"), name, name])).collect();
        assert_eq!(value, json!(wanted));
    });
}

#[test]
fn p23_one_name_of_two_servers_is_ambiguous_and_each_id_reaches_its_own() {
    rig::together(async {
        let tool = |server: &str| json!({"name": "send_email", "source": "mcp", "sourceName": server, "description": "Sends an email.", "parameters": {"type": "object"}, "reply": {"value": server}});
        let text = json!([tool("one"), tool("two")]).to_string();
        let two = || -> std::sync::Arc<FileCatalog> { catalog(&text) };
        let supervisor = rig::supervisor();
        let body = r#"const rows = await openclaw.tools.search("send email"); return Promise.all(rows.map(async (row) => [row.id, await openclaw.tools.call(row.id)]))"#;
        let mut value = rig::value(&supervisor, body, two()).await;
        value.as_array_mut().expect("rows").sort_by_key(|row| row[0].as_str().map(str::to_owned));
        assert_eq!(value, json!([["mcp:one:send_email", "one"], ["mcp:two:send_email", "two"]]));
        let report = supervisor.run(request(r#"return openclaw.tools.call("send_email", {})"#, 5_000), two()).await;
        let told = message(&report);
        assert!(told.contains("mcp:one:send_email") && told.contains("mcp:two:send_email"), "{told}");
        assert_eq!(report.calls[0].state, CallState::Refused);
    });
}

#[test]
fn p25_the_late_failure_of_a_lost_race_harms_nobody() {
    rig::together(async {
        let supervisor = rig::supervisor();
        let race = r#"const r = await Promise.race([openclaw.tools.call("demo:slow", {ms: 50}), openclaw.tools.call("demo:slowboom", {ms: 150})]); await openclaw.tools.call("demo:slow", {ms: 400}); return r;"#;
        let report = supervisor.run(request(race, 5_000), demo()).await;
        assert_eq!(json(&report), json!({"done": 50}));
        assert_eq!(report.calls[1].state, CallState::Error);
        // With less time than the last call takes: one clean timeout.
        let report = supervisor.run(request(race, 300), demo()).await;
        assert_eq!(code(&report), Some(ErrorCode::Timeout));
        assert_eq!(rig::value(&supervisor, "return 1", demo()).await, 1);
        let nobody = rig::run(&supervisor, r#"openclaw.tools.call("demo:boom"); return 1"#).await;
        assert_eq!((code(&nobody), json(&nobody)), (Some(ErrorCode::UnhandledRejection), json!(1)));
        assert!(message(&nobody).contains("nothing awaited or caught it"), "{}", message(&nobody));
    });
}

#[test]
fn a_promise_that_nothing_can_settle_is_found_at_once() {
    rig::together(async {
        let began = std::time::Instant::now();
        let report = rig::supervisor().run(request("await new Promise(() => {})", 30_000), demo()).await;
        assert_eq!(code(&report), Some(ErrorCode::NeverSettles));
        assert!(began.elapsed() < std::time::Duration::from_secs(15), "{:?}", began.elapsed());
    });
}

#[test]
fn keys_keep_their_order_through_a_call_a_log_and_the_value() {
    rig::together(async {
        let body = r#"const v = { z: 1, a: { y: 2, b: 3 }, m: [{ d: 1, c: 2 }] }; console.log(v); return [await openclaw.tools.call("demo:echo", v), v]"#;
        let report = rig::run(&rig::supervisor(), body).await;
        let text = r#"{"z":1,"a":{"y":2,"b":3},"m":[{"d":1,"c":2}]}"#;
        assert_eq!(report.logs[0].text, text);
        assert_eq!(report.value.text(), format!("[{text},{text}]"));
    });
}
