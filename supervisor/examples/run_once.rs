//! Embedding in one page: a catalog from a file, a supervisor, one body, its report.
//!
//! `cargo run --example run_once -- examples/tools.json 'return 1 + 1'`

use std::path::PathBuf;
use std::sync::Arc;

use codemode::catalog::FileCatalog;
use codemode::{RunRequest, Supervisor};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(tools), Some(body)) = (arguments.next(), arguments.next()) else {
        return Err("usage: run_once TOOLS.json BODY".into());
    };
    let catalog = Arc::new(FileCatalog::open(PathBuf::from(tools))?);
    let supervisor = Supervisor::builder().build()?;
    let report = supervisor.run(RunRequest::new(body), catalog).await;
    println!("{}", serde_json::to_string_pretty(&report)?);
    Ok(())
}
