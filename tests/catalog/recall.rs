//! How often search finds the right one of 2,834 tools.
//!
//! The tools and the 456 questions are third-party data kept outside the repository: `tools/catalog.json` and `tools/queries-dev.jsonl` in the
//! folder that `CODEMODE_DATA` names (`../shared/data` beside the repository without it). `questions.jsonl` beside this file has questions of our
//! own to the MCP servers among them, worded so that they share few words with the tools. Measured with the present weights: 0.950 of the questions
//! have their tool among the first eight rows, 0.941 among the first five, 0.794 in the first; the mean reciprocal rank is 0.853. The whole
//! table comes from `cargo bench -p codemode --bench search`.

use std::collections::HashSet;
use std::path::PathBuf;

use codemode::catalog::{Catalog, FileCatalog, SearchQuery};
use serde::Deserialize;

use super::repository;

/// Rows, and the share of questions whose right tool must be among them.
const FLOORS: [(usize, f64); 3] = [(1, 0.77), (5, 0.925), (8, 0.94)];
/// The mean of 1 / place must be so much.
const FLOOR_MRR: f64 = 0.84;
/// The share of our own questions whose tool must be among the first eight: without synonyms it is 0.53.
const FLOOR_OWN: f64 = 0.58;

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

fn questions(path: PathBuf) -> Vec<Question> {
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// For each question the place of the first right row, counted from 0.
async fn places(catalog: &FileCatalog, questions: &[Question]) -> Vec<Option<usize>> {
    let mut places = Vec::new();
    for question in questions {
        let query = SearchQuery { query: question.query.clone(), limit: Some(20) };
        let rows = catalog.search(&query).await.unwrap();
        places.push(rows.iter().position(|tool| question.relevant.contains(&tool.id)));
    }
    places
}

fn recall(places: &[Option<usize>], rows: usize) -> f64 {
    places.iter().flatten().filter(|place| **place < rows).count() as f64 / places.len() as f64
}

#[tokio::test]
async fn the_right_tool_is_among_the_first_rows() {
    let catalog = FileCatalog::open(data("catalog.json")).unwrap();
    let questions = questions(data("queries-dev.jsonl"));
    assert_eq!((catalog.summary().catalog_size, questions.len()), (2834, 456), "other data than the floors were measured on");
    let places = places(&catalog, &questions).await;
    for (rows, floor) in FLOORS {
        let share = recall(&places, rows);
        println!("recall@{rows}: {share:.3}");
        assert!(share >= floor, "recall@{rows} is {share:.3}, below {floor}");
    }
    let mrr = places.iter().flatten().map(|place| 1.0 / (*place as f64 + 1.0)).sum::<f64>() / places.len() as f64;
    println!("MRR: {mrr:.3}");
    assert!(mrr >= FLOOR_MRR, "MRR is {mrr:.3}, below {FLOOR_MRR}");
}

#[tokio::test]
async fn questions_that_share_few_words_with_their_tool_find_it_too() {
    let catalog = FileCatalog::open(data("catalog.json")).unwrap();
    let questions = questions(repository("tests/catalog/questions.jsonl"));
    for id in questions.iter().flat_map(|question| &question.relevant) {
        assert!(catalog.describe(id).await.is_ok(), "{id} is no tool of the catalog");
    }
    let share = recall(&places(&catalog, &questions).await, 8);
    println!("recall@8: {share:.3}");
    assert!(share >= FLOOR_OWN, "recall@8 is {share:.3}, below {FLOOR_OWN}");
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
