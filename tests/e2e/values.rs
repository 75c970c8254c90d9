//! Values and logs on their way out.

use codemode::ErrorCode;
use codemode_tests::rig::{self, code, demo, json, message};
use serde_json::json;

/// Runs at once where the number of runs, not their order, is the point.
const AT_ONCE: usize = 4;

#[test]
fn p13_half_an_emoji_is_replaced_and_the_run_goes_on() {
    rig::together(async {
        let supervisor = rig::supervisor();

        let half = rig::value(&supervisor, r#"return "\u{1F600}".slice(0, 1)"#, demo()).await;
        assert_eq!(half, "\u{fffd}");

        let report = rig::run(&supervisor, r#"console.log("x\ud83d"); return 1"#).await;
        assert!(report.ok, "{report:?}");
        assert_eq!(report.logs[0].text, "x\u{fffd}");

        let body = r#"
        const broken = await openclaw.tools.call("demo:echo", { s: "\udc00" });
        const whole = await openclaw.tools.call("demo:echo", { s: "ok" });
        return [broken.s, whole.s];"#;
        assert_eq!(rig::value(&supervisor, body, demo()).await, json!(["\u{fffd}", "ok"]));
    });
}

#[test]
fn p14_large_values_arrive_whole() {
    rig::together(async {
        let supervisor = rig::supervisor();
        for length in [60_000, 65_536, 70_000, 200_000, 1_000_000] {
            let body = format!(r#"return "x".repeat({length})"#);
            let wanted = format!("\"{}\"", "x".repeat(length));
            for _ in 0..50 / AT_ONCE + 1 {
                let runs = (0..AT_ONCE).map(|_| rig::start(&supervisor, &body));
                for run in runs.collect::<Vec<_>>() {
                    let report = run.report().await;
                    assert!(report.ok, "{length}: {:?}", report.error);
                    assert!(report.value.text() == wanted, "{length}: another value");
                }
            }
        }
    });
}

#[test]
fn p14_above_the_limit_both_sizes_are_named() {
    rig::together(async {
        let report = rig::run(&rig::supervisor(), r#"return "x".repeat(1_100_000)"#).await;
        assert_eq!(code(&report), Some(ErrorCode::OutputLimit));
        let digits: String = message(&report).chars().filter(|c| c.is_ascii_digit() || *c == ' ').collect();
        for size in ["1100002", "1048576"] {
            assert!(digits.split(' ').any(|word| word == size), "{size}: {}", message(&report));
        }
    });
}

#[test]
fn p16_a_cut_log_says_so_outside_its_text_and_the_value_is_kept() {
    rig::together(async {
        let body = r#"console.log("a".repeat(5_000_000)); return "tail-value";"#;
        let report = rig::run(&rig::supervisor(), body).await;
        assert!(report.ok, "{report:?}");
        assert_eq!(json(&report), "tail-value");
        let entry = &report.logs[0];
        assert!(entry.text.len() <= 8 * 1024, "{} bytes", entry.text.len());
        let letters = entry.text.bytes().filter(|byte| *byte == b'a').count() as u64;
        assert_eq!(entry.dropped, 5_000_000 - letters);
        assert_eq!(report.logs_dropped, entry.dropped);
        let whole = serde_json::to_string(&report).expect("a report is JSON");
        assert!(serde_json::from_str::<serde_json::Value>(&whole).is_ok());
    });
}

#[test]
fn p17_a_log_flood_is_stopped_while_it_runs() {
    rig::alone(async {
        let watched = rig::Watched::new().await;
        let request = rig::request(r#"let n = 0; while (true) console.log("line " + n++ + " " + "x".repeat(1000));"#, 3_000);
        let report = watched.supervisor.run(request, demo()).await;
        assert!(matches!(code(&report), Some(ErrorCode::OutputLimit | ErrorCode::Timeout)), "{:?}", report.error);
        assert!(report.timing.body.as_millis() <= 3_300, "{:?}", report.timing);
        assert!(report.logs[0].text.starts_with("line 0 "), "the first line is kept");
        assert!(report.logs_dropped > 0);
        let kept: usize = report.logs.iter().map(|entry| entry.text.len()).sum();
        assert!(kept <= 64 * 1024, "{kept} bytes");
        drop(report);
        assert!(watched.grown_by() <= 16 << 20, "{} bytes more", watched.grown_by());
        watched.leaves_nothing("a flood").await;
    });
}

#[test]
fn p33_noise_on_descriptor_2_goes_nowhere_and_is_bounded() {
    rig::together(async {
        // In the main realm, where descriptor 2 can be written to at all; told by its value.
        let body = r#"
        const fs = require("fs");
        const line = Buffer.alloc(65536, "noise of the body\n");
        let written = 0;
        for (let i = 0; i < 64; i++) written += fs.writeSync(2, line);
        return written;"#;
        let supervisor = rig::lost_realm(codemode::launch::WallSet::ALL);
        let (report, heard) = with_own_stderr(supervisor.run(rig::request(body, 5_000), demo())).await;
        assert!(report.ok, "{report:?}");
        assert_eq!(json(&report), 64 * 65_536);
        assert!(report.logs.is_empty(), "noise is no log: {:?}", report.logs);
        assert!(!heard.contains("noise of the body"), "it shows on our stderr");
    });
}

/// What this process writes to its own stderr meanwhile. Other tests may write there too; that does no harm.
async fn with_own_stderr<T>(work: impl Future<Output = T>) -> (T, String) {
    let file = tempfile::tempfile().expect("a temporary file");
    let saved = nix::unistd::dup(std::io::stderr()).expect("stderr is open");
    nix::unistd::dup2_stderr(&file).expect("stderr can be replaced");
    let done = work.await;
    nix::unistd::dup2_stderr(&saved).expect("stderr can be put back");
    let mut heard = String::new();
    use std::io::{Read, Seek};
    let mut file = file;
    file.rewind().expect("a file can be rewound");
    file.read_to_string(&mut heard).expect("text");
    (done, heard)
}
