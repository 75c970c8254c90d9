//! What the catalog costs by itself: opening a file of tools, searching, describing.

use std::hint::black_box;

use codemode::catalog::{Catalog, FileCatalog, SearchQuery};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use tokio::runtime::{Builder, Runtime};

const SIZES: [usize; 3] = [100, 1_000, 10_000];

/// Tools with words of their own, so that a search has something to tell apart.
fn tools(count: usize) -> String {
    const VERBS: [&str; 7] = ["create", "read", "update", "delete", "list", "find", "move"];
    const THINGS: [&str; 11] = ["issue", "file", "user", "message", "event", "page", "branch", "order", "invoice", "image", "task"];
    let tool = |n: usize| {
        let (verb, thing) = (VERBS[n % VERBS.len()], THINGS[n % THINGS.len()]);
        format!(
            r#"{{"name":"{verb}_{thing}_{n}","description":"Can {verb} one {thing} of project {n}.","parameters":{{"type":"object","properties":{{"id":{{"type":"string","description":"The {thing}."}}}}}}}}"#
        )
    };
    format!("[{}]", (0..count).map(tool).collect::<Vec<_>>().join(","))
}

fn open(text: &str) -> FileCatalog {
    FileCatalog::from_str(text, "bench").unwrap_or_else(|error| panic!("{error}"))
}

fn runtime() -> Runtime {
    Builder::new_current_thread().build().expect("a runtime can be made")
}

fn opening(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("open");
    group.sample_size(10);
    for size in SIZES {
        let text = tools(size);
        group.bench_with_input(BenchmarkId::from_parameter(size), &text, |bencher, text| bencher.iter(|| open(black_box(text))));
    }
}

fn searching(criterion: &mut Criterion) {
    let runtime = runtime();
    let mut group = criterion.benchmark_group("search");
    for size in SIZES {
        let catalog = open(&tools(size));
        let query = SearchQuery { query: "update an invoice of a project".to_owned(), limit: None };
        group.bench_function(BenchmarkId::from_parameter(size), |bencher| {
            bencher.iter(|| runtime.block_on(catalog.search(black_box(&query))));
        });
    }
}

fn describing(criterion: &mut Criterion) {
    let runtime = runtime();
    let mut group = criterion.benchmark_group("describe");
    let catalog = open(&tools(10_000));
    for (what, id) in [("by id", "client:bench:read_file_1"), ("near miss", "client:bench:raed_file_1")] {
        group.bench_function(what, |bencher| bencher.iter(|| runtime.block_on(catalog.describe(black_box(id)))));
    }
}

criterion_group!(benches, opening, searching, describing);
criterion_main!(benches);
