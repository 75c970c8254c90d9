//! Ids and bare names, as bodies write them.

use codemode::catalog::{CallCode, Catalog, FileCatalog};
use serde_json::json;

use super::{catalog, context, found, repository};

#[tokio::test]
async fn p21_blanks_around_an_id_do_not_matter_and_a_miss_shows_them() {
    let demo = FileCatalog::open(repository("examples/demo.json")).unwrap();
    assert_eq!(demo.describe(" demo:echo\n").await.unwrap().id, "demo:echo");
    let failure = demo.describe(" demo:nope ").await.unwrap_err();
    assert_eq!(failure.code, CallCode::UnknownTool);
    assert!(failure.message.starts_with("there is no tool \" demo:nope \""), "{}", failure.message);
    let empty = demo.describe("").await.unwrap_err();
    assert!(empty.message.starts_with("there is no tool \"\"; "), "{}", empty.message);
}

#[tokio::test]
async fn p21_a_miss_names_up_to_three_near_ones() {
    let demo = FileCatalog::open(repository("examples/demo.json")).unwrap();
    for (wanted, near) in [("demo:ecko", "demo:echo"), ("Echo", "demo:echo"), ("cuont", "demo:count"), ("demo:slow_boom", "demo:slowboom")]
    {
        let failure = demo.describe(wanted).await.unwrap_err();
        assert!(failure.message.contains(&format!("near ones: \"{near}\"")), "{}", failure.message);
        assert!(failure.data["near"].as_array().unwrap().len() <= 3);
    }
}

#[tokio::test]
async fn an_id_of_any_size_and_content_makes_a_short_plain_message() {
    let demo = FileCatalog::open(repository("examples/demo.json")).unwrap();
    let failure = demo.describe(&"\u{1b}[2J\n".repeat(100_000)).await.unwrap_err();
    assert!(failure.message.len() < 1500 && !failure.message.contains(char::is_control), "{:?}", failure.message);
}

#[tokio::test]
async fn p22_names_with_dots_dashes_slashes_and_other_letters_stay_themselves() {
    let names = ["vercel.deploy", "vercel-deploy", "a/b", "sök"];
    let text = json!(names.map(
        |name| json!({"source": "mcp", "sourceName": "s", "name": name, "description": "", "parameters": {}, "reply": {"echo": true}})
    ))
    .to_string();
    let catalog = FileCatalog::from_str(&text, "t").unwrap();
    for (seq, name) in (1..).zip(names) {
        assert_eq!(found(&catalog, name, Some(1)).await, [name]);
        let tool = catalog.describe(&format!("mcp:s:{name}")).await.unwrap();
        assert_eq!(catalog.call(&tool, json!({}), &context(seq)).await, Ok(json!({})));
    }
    let reached: Vec<_> = catalog.dispatched().into_iter().map(|dispatch| dispatch.tool_id).collect();
    assert_eq!(reached, names.map(|name| format!("mcp:s:{name}")));
}

#[tokio::test]
async fn p23_a_name_of_two_servers_is_ambiguous_and_both_are_found() {
    let text = json!(["two", "one"].map(|server| json!({"source": "mcp", "sourceName": server, "name": "send_email", "description": "", "parameters": {}, "reply": {"value": server}}))).to_string();
    let catalog = FileCatalog::from_str(&text, "t").unwrap();
    assert_eq!(found(&catalog, "send email", None).await.len(), 2);
    let failure = catalog.describe("send_email").await.unwrap_err();
    assert_eq!((failure.code, failure.data), (CallCode::AmbiguousTool, json!({"ids": ["mcp:one:send_email", "mcp:two:send_email"]})));
    assert!(failure.message.contains("\"mcp:one:send_email\", \"mcp:two:send_email\""), "{}", failure.message);
    for server in ["one", "two"] {
        let tool = catalog.describe(&format!("mcp:{server}:send_email")).await.unwrap();
        assert_eq!(catalog.call(&tool, json!({}), &context(1)).await, Ok(json!(server)));
    }
    assert_eq!(catalog.dispatch_count(), 2);
}

#[tokio::test]
async fn letter_case_counts() {
    let catalog = catalog(&[("Read", ""), ("read", "")]);
    assert_eq!(catalog.describe("Read").await.unwrap().id, "client:t:Read");
    assert_eq!(catalog.describe("READ").await.unwrap_err().code, CallCode::UnknownTool);
}
