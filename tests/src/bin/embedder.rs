//! A program that embeds codemode: runs one body, tells each event and at last the report as a line of JSON on standard output.
//!
//! It needs nothing but its argument: no input, no file of its own, no writable place.

use std::io::Write;
use std::process::ExitCode;

use codemode::RunHandle;
use codemode::launch::LaunchConfig;
use codemode_tests::embedding::Order;
use codemode_tests::rig;
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some(order) = std::env::args().nth(1).and_then(|text| serde_json::from_str::<Order>(&text).ok()) else {
        return ExitCode::from(2);
    };
    let supervisor = match rig::build(LaunchConfig::default()) {
        Ok(supervisor) => supervisor,
        Err(error) => {
            tell(&json!({"unavailable": error.to_string()}));
            return ExitCode::from(4);
        }
    };
    let catalog = rig::open(order.tools.as_ref());
    let request = rig::request(&order.body, order.wall_ms);
    tell_all(supervisor.start(request, catalog)).await;
    ExitCode::SUCCESS
}

async fn tell_all(mut run: RunHandle) {
    while let Some(event) = run.event().await {
        tell(&serde_json::to_value(event).unwrap_or(Value::Null));
    }
    let report = run.report().await;
    tell(&serde_json::to_value(report).unwrap_or(Value::Null));
}

fn tell(line: &Value) {
    // Who started this may be gone; the run is not stopped for that.
    let _ = writeln!(std::io::stdout(), "{line}");
}
