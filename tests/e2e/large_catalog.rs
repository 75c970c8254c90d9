//! The first thing a caller does: find a tool among thousands, look at it, call it.

use codemode::catalog::Catalog;
use codemode::launch::WallStatus;
use codemode::{CallState, Method, RunRequest};
use codemode_tests::{host, rig};

const BODY: &str = r#"
    const hits = await openclaw.tools.search("create a new issue in a repository");
    const tool = await openclaw.tools.describe(hits[0].id);
    const args = {};
    for (const name of tool.parameters.required ?? []) args[name] = sample(tool.parameters.properties[name]);
    const reply = await openclaw.tools.call(tool.id, args);
    return { id: tool.id, reply };

    function sample(schema) {
        if (schema.enum) return schema.enum[0];
        const type = [schema.type].flat()[0];
        return { number: 1, integer: 1, boolean: true, array: [], object: {} }[type] ?? "text";
    }"#;

#[test]
fn a_tool_is_found_described_and_called_behind_every_wall() {
    rig::together(async {
        let catalog = rig::open(&host::data().join("tools/catalog.json"));
        let size = catalog.summary().catalog_size;
        assert!(size > 2_000, "{size} tools");
        let report = rig::supervisor().run(RunRequest::new(BODY), catalog.clone()).await;
        assert!(report.ok, "{:?}", report.error);

        let value = rig::json(&report);
        let id = value["id"].as_str().expect("an id");
        assert!(id.contains("issue"), "{id}");
        assert!(!value["reply"].is_null(), "{value}");

        let ledger: Vec<_> = report.calls.iter().map(|call| (call.method, call.state)).collect();
        let ok = CallState::Ok;
        assert_eq!(ledger, [(Method::Search, ok), (Method::Describe, ok), (Method::Call, ok)]);
        let telemetry = &report.telemetry;
        assert_eq!((telemetry.search_count, telemetry.describe_count, telemetry.call_count), (1, 1, 1));
        assert_eq!(telemetry.catalog_size, size);
        assert_eq!(telemetry.selected[0].id, id);
        assert_eq!(catalog.dispatched().iter().map(|dispatch| dispatch.tool_id.as_str()).collect::<Vec<_>>(), [id]);

        let isolation = report.isolation.expect("there was a child");
        assert_eq!(isolation.launcher, rig::way());
        assert_eq!(isolation.walls.len(), 11);
        for wall in isolation.walls {
            println!("{wall:?}");
            host::has(&format!("wall-{}", wall.name.name()), wall.status == WallStatus::Enforced);
        }
    });
}
