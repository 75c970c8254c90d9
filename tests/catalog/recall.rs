//! How often search finds the right one of 2,834 tools.
//!
//! The tools and the 456 questions are third-party data kept outside the repository: `tools/catalog.json` and `tools/queries-dev.jsonl` in the
//! folder that `CODEMODE_DATA` names (`../shared/data` beside the repository without it). Measured with the present weights: the right tool is
//! first for 75.7 % of the questions, among the first five for 89.9 %, among the first eight for 91.9 %. The floors are a little under that.

use std::collections::HashSet;
use std::path::PathBuf;

use codemode::catalog::{Catalog, FileCatalog, SearchQuery};
use serde::Deserialize;

use super::repository;

/// Rows, and the share of questions whose right tool must be among them.
const FLOORS: [(usize, f64); 3] = [(1, 0.74), (5, 0.885), (8, 0.905)];

#[derive(Deserialize)]
struct Question {
    query: String,
    relevant: HashSet<String>,
}

fn data(file: &str) -> PathBuf {
    let folder = std::env::var_os("CODEMODE_DATA").map_or_else(|| repository("../shared/data"), PathBuf::from);
    let path = folder.join("tools").join(file);
    assert!(path.is_file(), "{} is missing; set CODEMODE_DATA to the folder with tools/{file}", path.display());
    path
}

#[tokio::test]
async fn the_right_tool_is_among_the_first_rows() {
    let catalog = FileCatalog::open(data("catalog.json")).unwrap();
    let questions = std::fs::read_to_string(data("queries-dev.jsonl")).unwrap();
    let questions: Vec<Question> = questions.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((catalog.summary().catalog_size, questions.len()), (2834, 456), "other data than the floors were measured on");
    let mut places = Vec::new();
    for question in &questions {
        let query = SearchQuery { query: question.query.clone(), limit: None };
        let rows = catalog.search(&query).await.unwrap();
        places.push(rows.iter().position(|tool| question.relevant.contains(&tool.id)));
    }
    for (rows, floor) in FLOORS {
        let found = places.iter().flatten().filter(|place| **place < rows).count();
        let share = found as f64 / questions.len() as f64;
        println!("recall@{rows}: {share:.3}");
        assert!(share >= floor, "recall@{rows} is {share:.3}, below {floor}");
    }
}

#[test]
fn every_schema_of_real_tools_can_be_checked() {
    let catalog = FileCatalog::open(data("catalog.json")).unwrap();
    for tool in catalog.tools().tools() {
        assert!(tool.parameters.validator().is_ok(), "{}: {:?}", tool.id, tool.parameters.validator().err());
    }
}

/// The bounds on schemas are for hostile ones: every real tool keeps its check.
#[test]
fn every_real_schema_can_be_checked() {
    let catalog = FileCatalog::open(data("catalog.json")).unwrap();
    let set = catalog.tools();
    let refused: Vec<String> = set
        .tools()
        .iter()
        .filter_map(|tool| {
            let failure = codemode::gate::check_arguments(tool, serde_json::json!({})).err()?;
            (failure.code != codemode::catalog::CallCode::InvalidArguments).then_some(failure.message)
        })
        .collect();
    assert!(refused.is_empty(), "{}\n{}", refused.len(), refused.join("\n"));
}
