//! What a host must have for a test to mean something.

use std::path::{Path, PathBuf};

/// Whether the test may go on. It may not when `CODEMODE_EXPECT` (words with commas between) has `no-NAME`: then the absence is the host's
/// owner's decision, and not found out here.
///
/// # Panics
///
/// When the host lacks `name` and nobody said so: a skip that looks like a pass would hide it.
pub fn has(name: &str, found: bool) -> bool {
    let expected = std::env::var("CODEMODE_EXPECT").unwrap_or_default();
    let waived = expected.split(',').any(|word| word.trim().strip_prefix("no-") == Some(name));
    assert!(found || waived, "this host has no {name}: give it one, or set CODEMODE_EXPECT=no-{name}");
    if !found {
        eprintln!("left out: CODEMODE_EXPECT says that this host has no {name}");
    }
    found
}

/// The program `name` on the PATH.
pub fn program(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// The root of the repository.
pub fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// The folder of the large catalog.
///
/// # Panics
///
/// When it is not there.
pub fn data() -> PathBuf {
    let folder = std::env::var_os("CODEMODE_DATA").map_or_else(|| repository().join("../shared/data"), PathBuf::from);
    assert!(folder.is_dir(), "no test data at {}: set CODEMODE_DATA to its folder", folder.display());
    folder
}

/// The Nodes to try: those of `CODEMODE_NODES` (a list as in PATH), else the one of `CODEMODE_NODE`, else the one on the PATH.
///
/// # Panics
///
/// When there is none.
pub fn nodes() -> Vec<PathBuf> {
    let list = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let named = list("CODEMODE_NODES").or_else(|| list("CODEMODE_NODE"));
    let nodes: Vec<PathBuf> = match named {
        Some(paths) => std::env::split_paths(&paths).collect(),
        None => program("node").into_iter().collect(),
    };
    assert!(!nodes.is_empty(), "no Node: set CODEMODE_NODE");
    nodes
}
