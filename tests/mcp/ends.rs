//! How connections end, and what is left of their programs: nothing.

use std::time::{Duration, Instant};

use codemode::catalog::{CallCode, Catalog, ToolSource};
use serde_json::json;

use crate::stage::{Scene, call, program, runs, words};

#[tokio::test]
async fn a_server_that_closes_one_direction_is_at_its_end() {
    // The question may have gone into the pipe before the deaf one closed it, or find it closed and not be put at all.
    for (way, said) in [("mute", &["closed its standard output"][..]), ("deaf", &["closed its standard input", "its input is closed"][..])]
    {
        let scene = Scene::of(&[("srv", json!({}))]);
        let catalog = scene.view().await;
        let began = Instant::now();
        let first = call(&catalog, &format!("mcp:srv:{way}"), json!({})).await;
        let lost = if way == "deaf" {
            assert_eq!(first.unwrap(), "last one");
            call(&catalog, "mcp:srv:whoami", json!({})).await
        } else {
            first
        };
        // A write may find the pipe closed, or the connection be made again before that; a riddle it never is.
        match lost {
            Ok(value) => assert_eq!((way, value), ("deaf", json!("srv"))),
            Err(failure) => {
                let is_said = said.iter().any(|said| failure.message.contains(said));
                assert!(failure.code == CallCode::ToolUnavailable && is_said, "{failure:?}");
            }
        }
        // It is back soon; what is asked while the old program ends was not called, and says so.
        loop {
            assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
            match call(&catalog, "mcp:srv:whoami", json!({})).await {
                Ok(value) => break assert_eq!(value, "srv"),
                Err(failure) => assert!(failure.message.contains("was not called") && !failure.is_unanswered, "{failure:?}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        scene.end().await;
    }
}

#[tokio::test]
async fn last_words_are_an_answer() {
    let scene = Scene::of(&[("srv", json!({}))]);
    let catalog = scene.view().await;
    assert_eq!(call(&catalog, "mcp:srv:leave", json!({})).await.unwrap(), "last words");
    scene.end().await;
}

#[tokio::test]
async fn a_server_that_dies_at_each_call_is_left_alone_after_five_starts() {
    let scene = Scene::of(&[("srv", json!({}))]);
    let catalog = scene.view().await;
    for _ in 0..5 {
        assert!(call(&catalog, "mcp:srv:bye", json!({})).await.unwrap_err().message.contains("SIGKILL"));
    }
    let failure = call(&catalog, "mcp:srv:bye", json!({})).await.unwrap_err();
    assert!(failure.code == CallCode::ToolUnavailable && !failure.is_unanswered, "{failure:?}");
    assert!(failure.message.contains("started 5 times") && failure.message.contains("was not called"), "{failure:?}");
    assert_eq!(scene.called("srv").len(), 5);
    scene.end().await;
}

#[tokio::test]
async fn p40_a_stop_closes_the_input_then_asks_then_kills_and_takes_the_whole_tree() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("srv.log");
    let fake = words(&json!({"log": log, "stubborn": true, "grandchild": true}));
    let quoted: Vec<String> = fake.iter().map(|word| format!("'{word}'")).collect();
    // The launcher is the group's leader and waits for the real server.
    let launcher = ["sh".to_owned(), "-c".to_owned(), format!("{}; true", quoted.join(" "))];
    let scene = Scene::with([("srv".to_owned(), program(&launcher))].into(), folder);
    let catalog = scene.view().await;
    assert!(call(&catalog, "mcp:srv:echo", json!({})).await.is_ok());
    let tree: Vec<i64> = scene.log("srv").iter().flat_map(|line| [line["pid"].as_i64(), line["grandchild"].as_i64()]).flatten().collect();
    assert!(tree.len() > 2 && tree.iter().all(|pid| runs(*pid)), "{tree:?}");
    let began = Instant::now();
    scene.servers.stop().await;
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert!(tree.iter().all(|pid| !runs(*pid)), "{tree:?}");
    let order: Vec<_> = scene.log("srv").into_iter().map(|line| line["what"].clone()).collect();
    let at = |what: &str| order.iter().position(|seen| seen == what).unwrap_or_else(|| panic!("no {what} in {order:?}"));
    assert!(at("end of input") < at("SIGTERM"), "{order:?}");
    scene.end().await;
}

#[tokio::test]
async fn a_process_that_a_server_left_behind_holds_nothing_of_ours() {
    let scene = Scene::of(&[("srv", json!({"runaway": true}))]);
    let catalog = scene.view().await;
    assert!(call(&catalog, "mcp:srv:echo", json!({})).await.is_ok());
    let runaway = scene.log("srv").iter().find_map(|line| line["runaway"].as_i64()).expect("it says so");
    let pipe = std::fs::read_link(format!("/proc/{runaway}/fd/2")).expect("it runs");
    assert!(holds(&pipe), "as long as the server runs, its standard error is read");
    drop(catalog);
    scene.end().await;
    let began = Instant::now();
    while holds(&pipe) {
        assert!(began.elapsed() < Duration::from_secs(2), "{} is still held", pipe.display());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(runs(runaway), "it was not this that closed it");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(i32::try_from(runaway).unwrap()), nix::sys::signal::Signal::SIGKILL).unwrap();
}

/// Whether this process has a descriptor of this.
fn holds(file: &std::path::Path) -> bool {
    let mut descriptors = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    descriptors.any(|entry| std::fs::read_link(entry.path()).is_ok_and(|held| held == file))
}

#[tokio::test]
async fn a_server_that_ends_when_its_input_does_is_not_asked_twice() {
    let scene = Scene::of(&[("srv", json!({}))]);
    scene.view().await;
    let began = Instant::now();
    scene.servers.stop().await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    let order: Vec<_> = scene.log("srv").into_iter().map(|line| line["what"].clone()).collect();
    assert!(order.iter().any(|what| what == "end of input") && !order.iter().any(|what| what == "SIGTERM"), "{order:?}");
    // A stopped server stays stopped.
    assert!(scene.servers.servers()[0].list(None).await.unwrap_err().reason.contains("stopped"));
    scene.end().await;
}

#[tokio::test]
async fn a_server_that_never_gets_ready_is_stopped_in_order_too() {
    let scene = Scene::of(&[("srv", json!({"start": "silent", "stubborn": true}))]);
    let sources = codemode::catalog::Sources::new().with_patience(Duration::from_secs(2));
    scene.servers.add_to(&sources);
    let scene = Scene { sources: std::sync::Arc::new(sources), ..scene };
    assert_eq!(scene.view().await.summary().unavailable.len(), 1);
    let began = Instant::now();
    scene.servers.stop().await;
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    let order: Vec<_> = scene.log("srv").into_iter().map(|line| line["what"].clone()).collect();
    assert_eq!(order, ["start", "end of input", "SIGTERM"]);
    scene.end().await;
}

#[tokio::test]
async fn a_source_that_is_dropped_takes_its_program_down() {
    let scene = Scene::of(&[("srv", json!({"stubborn": true, "grandchild": true}))]);
    scene.view().await;
    let tree: Vec<i64> = scene.log("srv").iter().flat_map(|line| [line["pid"].as_i64(), line["grandchild"].as_i64()]).flatten().collect();
    assert!(tree.len() >= 2 && tree.iter().all(|pid| runs(*pid)), "{tree:?}");
    drop(scene);
    codemode_tests::patience::until("nothing is left", Duration::from_secs(4), || tree.iter().all(|pid| !runs(*pid))).await;
}

/// The way out of a program that does not stop its servers: everything is killed when the runtime goes.
#[test]
fn nothing_is_left_when_the_runtime_goes_down() {
    let scene = Scene::of(&[("srv", json!({"stubborn": true, "grandchild": true}))]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let catalog = runtime.block_on(scene.view());
    let tree: Vec<i64> = scene.log("srv").iter().flat_map(|line| [line["pid"].as_i64(), line["grandchild"].as_i64()]).flatten().collect();
    assert!(tree.len() >= 2 && tree.iter().all(|pid| runs(*pid)), "{tree:?}");
    drop(runtime);
    drop(catalog);
    let log = scene.log_file("srv");
    assert!(log.exists());
    drop(scene);
    let began = Instant::now();
    while tree.iter().any(|pid| runs(*pid)) {
        assert!(began.elapsed() < Duration::from_secs(3), "{tree:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
