//! Filters, several searches at once, and indexes that read only what is new.

use std::sync::Arc;

use codemode::catalog::{BatchBudget, SearchFilter, SearchQuery, Source, Tool, ToolSet};
use serde_json::json;

fn tool(source: Source, source_name: &str, name: &str, description: &str) -> Arc<Tool> {
    Arc::new(Tool::new(source, source_name, name, description, json!({"type": "object"})))
}

fn set() -> ToolSet {
    let tools = vec![
        tool(Source::Openclaw, "core", "read_file", "Reads a file."),
        tool(Source::Mcp, "disk", "read_file", "Reads a file."),
        tool(Source::Mcp, "cloud", "read_file", "Reads a file."),
        tool(Source::Client, "app", "read_mail", "Reads a mail."),
        tool(Source::Plugin, "post", "send_mail", "Sends a mail."),
    ];
    ToolSet::new(tools).unwrap()
}

fn query(words: &str) -> SearchQuery {
    SearchQuery { query: words.to_owned(), limit: None }
}

fn ids(tools: &[Arc<Tool>]) -> Vec<&str> {
    tools.iter().map(|tool| tool.id.as_str()).collect()
}

#[test]
fn a_filter_by_source_holds_for_words_names_and_ids() {
    let set = set();
    let mcp = SearchFilter { sources: Some(vec![Source::Mcp]), ..SearchFilter::default() };
    for words in ["read a file", "read_file", "openclaw:core:read_file"] {
        assert_eq!(ids(&set.search_among(&query(words), &mcp)), ["mcp:cloud:read_file", "mcp:disk:read_file"], "{words}");
    }
    let disk = SearchFilter { source_names: Some(vec!["disk".to_owned()]), ..mcp };
    assert_eq!(ids(&set.search_among(&query("read a file"), &disk)), ["mcp:disk:read_file"]);
    let nothing = SearchFilter { sources: Some(vec![]), ..SearchFilter::default() };
    assert!(set.search_among(&query("read a file"), &nothing).is_empty());
    assert_eq!(ids(&set.search_among(&query("read a file"), &SearchFilter::default())), ids(&set.search(&query("read a file"))));
}

#[test]
fn a_filter_is_no_limit_on_what_is_looked_through() {
    let mut tools: Vec<Arc<Tool>> = (0..500).map(|number| tool(Source::Openclaw, "core", &format!("file_{number}"), "file file")).collect();
    tools.push(tool(Source::Client, "app", "last", "Something long about many things, one of which is a file among others."));
    let client = SearchFilter { sources: Some(vec![Source::Client]), ..SearchFilter::default() };
    assert_eq!(ids(&ToolSet::new(tools).unwrap().search_among(&query("file"), &client)), ["client:app:last"]);
}

#[test]
fn several_searches_give_each_tool_once() {
    let set = set();
    let asked = [query("read_mail"), query("mail"), query("zzqqxx"), query("")];
    let batch = set.search_batch(&asked, &SearchFilter::default(), &BatchBudget::default());
    assert_eq!(ids(&batch.tools).len(), batch.tools.iter().map(|tool| &tool.id).collect::<std::collections::HashSet<_>>().len());
    for (found, query) in batch.found.iter().zip(&asked) {
        let found: Vec<Arc<Tool>> = found.iter().map(|place| Arc::clone(&batch.tools[*place])).collect();
        assert_eq!(ids(&found), ids(&set.search(query)), "{}", query.query);
    }
    assert!(batch.found[2].is_empty() && batch.found[3].is_empty());
    assert_eq!((batch.skipped, batch.left_out), (0, 0));
}

#[test]
fn a_budget_is_shared_and_says_what_it_left_out() {
    let set = set();
    let asked = [query("read a file"), query("send mail"), query("read")];
    let two = set.search_batch(&asked, &SearchFilter::default(), &BatchBudget { tools: 2, ..BatchBudget::default() });
    // The best of each search comes before the second of the first.
    assert_eq!(ids(&two.tools), ["openclaw:core:read_file", "plugin:post:send_mail"]);
    assert!(two.left_out > 0);
    let one = set.search_batch(&asked, &SearchFilter::default(), &BatchBudget { queries: 1, ..BatchBudget::default() });
    assert_eq!((one.found.len(), one.skipped), (1, 2));
    let row = set.search(&query("read a file"))[0].row().to_string().len();
    let small = set.search_batch(&asked, &SearchFilter::default(), &BatchBudget { bytes: row, ..BatchBudget::default() });
    assert_eq!(ids(&small.tools), ["openclaw:core:read_file"]);
    let none = set.search_batch(&asked, &SearchFilter::default(), &BatchBudget { bytes: 0, ..BatchBudget::default() });
    assert!(none.tools.is_empty() && none.found.iter().all(Vec::is_empty));
}
