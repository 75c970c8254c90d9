//! Programs in place of Node: what a child may do when nothing holds it.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use codemode::catalog::{Catalog, FileCatalog};
use codemode::launch::{Danger, LaunchConfig};
use codemode::{Limit, RunLimits, RunRequest, Supervisor};

/// A supervisor whose children are this shell script; its bridge is the script's standard input and output.
pub fn supervisor(script: &str) -> Supervisor {
    let stand_in = Some((PathBuf::from("/bin/sh"), vec!["-c".to_owned(), script.to_owned()]));
    let config = LaunchConfig { danger: Danger { stand_in, ..Danger::default() }, ..LaunchConfig::default() };
    Supervisor::builder().launch(config).build().expect("a shell can be started")
}

/// Shell text that says hello and answers with 1, as a well-behaved child would.
pub fn answering() -> String {
    let hello = r#"{"jsonrpc":"2.0","method":"hello","params":{"protocol":1,"node":"v24.0.0"}}"#;
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"value":1,"valueType":"number"}}"#;
    let frame = |text: &str| format!("\\000\\000\\000\\{:03o}{text}", text.len());
    format!("printf '{}{}'", frame(hello), frame(answer))
}

pub fn no_tools() -> Arc<dyn Catalog> {
    Arc::new(FileCatalog::from_str("[]", "none").expect("an empty catalog"))
}

pub fn request(wall_ms: u64) -> RunRequest {
    RunRequest::new("return 1").with_limits(RunLimits::default().with(Limit::WallMs, wall_ms).expect("within the bounds"))
}

/// Processes `sleep SECONDS`. Each test has a number of its own, so that tests beside it do not count.
fn sleepers(seconds: u32) -> usize {
    let wanted = format!("sleep\0{seconds}\0");
    let processes = fs::read_dir("/proc").expect("/proc is there").flatten();
    processes.filter(|process| fs::read(process.path().join("cmdline")).is_ok_and(|line| line == wanted.as_bytes())).count()
}

/// Whether it comes to be so many within two seconds. The child itself is reaped before its report; a descendant of it is killed by then, and the
/// kernel takes it away in its own time.
pub async fn become_sleepers(seconds: u32, count: usize) -> bool {
    let patience = Instant::now() + Duration::from_secs(2);
    while sleepers(seconds) != count {
        if Instant::now() > patience {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    true
}
