//! The recorded lists of nineteen real servers: every tool, with the schema that its server wrote.

use std::time::{Duration, Instant};

use codemode::catalog::{Source, Tool};
use codemode::gate::check_arguments;
use serde_json::{Value, json};

/// No tool may take longer, and no build is granted more: unoptimised, the slowest takes a tenth of it. Of three tries the best counts, because others use the machine.
const LIMIT: Duration = Duration::from_millis(20);

fn lists() -> Vec<(String, Value)> {
    let folder = codemode_tests::host::data().join("mcp");
    let mut lists = Vec::new();
    for entry in std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if path.extension().is_some_and(|end| end == "json") && name != "servers" {
            lists.push((name, serde_json::from_str(&std::fs::read_to_string(&path).expect("a list")).expect("JSON")));
        }
    }
    lists
}

#[test]
fn every_recorded_tool_has_descriptor_description_and_signature_within_its_time() {
    let mut count = 0;
    let mut slowest = (Duration::ZERO, String::new());
    for (server, list) in lists() {
        for listed in list["tools"].as_array().expect("tools") {
            count += 1;
            let made = || {
                let mut tool = Tool::new(
                    Source::Mcp,
                    &*server,
                    listed["name"].as_str().unwrap(),
                    listed["description"].as_str().unwrap_or_default(),
                    listed["inputSchema"].clone(),
                );
                if listed["outputSchema"].is_object() {
                    tool = tool.with_output_schema(listed["outputSchema"].clone());
                }
                tool
            };
            let best = (0..3)
                .map(|_| {
                    let tool = made();
                    let began = Instant::now();
                    let row = tool.row();
                    let described = tool.description_value();
                    let took = began.elapsed();
                    assert_eq!(described["parameters"], listed["inputSchema"], "{}", tool.id);
                    assert_eq!(described.get("outputSchema"), listed.get("outputSchema"), "{}", tool.id);
                    assert_eq!((&row["source"], &row["input"]), (&json!("mcp"), &json!("unknown")));
                    let signature = described["signature"].as_str().unwrap();
                    assert!(signature.contains("=> Promise<") && !signature.contains('\n'), "{}: {signature}", tool.id);
                    took
                })
                .min()
                .unwrap();
            // A schema of any draft can be checked against, or says why not; it never takes the program down.
            let tool = made();
            let _ = check_arguments(&tool, json!({}));
            if best > slowest.0 {
                slowest = (best, tool.id.clone());
            }
            assert!(best < LIMIT, "{}: {best:?}", tool.id);
        }
    }
    println!("{count} tools; the slowest took {:?}: {}", slowest.0, slowest.1);
    assert_eq!(count, 747);
}
