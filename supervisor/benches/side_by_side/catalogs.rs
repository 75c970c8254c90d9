//! The tools of the benchmark.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use codemode::catalog::FileCatalog;
use serde_json::Value;

/// Tools in the larger of the two searched catalogs.
pub const MANY: usize = 16_000;

/// Everything that is called and searched.
#[derive(Debug)]
pub struct Catalogs {
    /// A few scripted tools.
    pub demo: Arc<FileCatalog>,
    /// The catalog of the data folder.
    pub large: Arc<FileCatalog>,
    /// The same tools under new names until there are [`MANY`].
    pub many: Arc<FileCatalog>,
    /// What people asked for, from the data folder.
    pub queries: Vec<String>,
}

impl Catalogs {
    /// Reads them.
    pub fn load() -> Catalogs {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the repository");
        let data = std::env::var_os("CODEMODE_DATA").map_or_else(|| here.join("../shared/data"), PathBuf::from);
        let read = |path: PathBuf| {
            std::fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("{}: {error}; set CODEMODE_DATA to the folder of the data", path.display()))
        };
        let text = read(data.join("tools/catalog.json"));
        let queries = read(data.join("tools/queries-dev.jsonl"));
        let queries = queries.lines().map(|line| serde_json::from_str::<Value>(line).expect("a query is JSON"));
        let queries = queries.filter_map(|line| Some(line["query"].as_str()?.to_owned())).collect();
        let tools: Vec<Value> = serde_json::from_str(&text).expect("the catalog is JSON");
        let open = |text: &str| Arc::new(FileCatalog::from_str(text, "tools").unwrap_or_else(|error| panic!("{error}")));
        Catalogs { demo: open(&read(here.join("examples/demo.json"))), large: open(&text), many: open(&many(&tools)), queries }
    }
}

fn many(tools: &[Value]) -> String {
    let renamed = (0..).flat_map(|copy| tools.iter().map(move |tool| rename(tool, copy)));
    let tools: Vec<Value> = renamed.take(MANY).collect();
    serde_json::to_string(&tools).expect("values are JSON")
}

fn rename(tool: &Value, copy: usize) -> Value {
    let mut tool = tool.clone();
    for field in ["id", "name"] {
        if let Some(name) = tool[field].as_str().filter(|_| copy > 0).map(|name| format!("{name}_{copy}")) {
            tool[field] = name.into();
        }
    }
    tool
}
