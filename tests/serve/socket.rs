//! The socket's file and the server's life.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

use codemode_tests::census::is_alive;
use codemode_tests::host;
use nix::sys::signal::Signal;
use serde_json::json;

use crate::served::{SOON, Serve, tool, typed, until};

#[test]
fn the_sockets_mode_is_0600_whatever_the_umask() {
    for umask in ["umask 000", "umask 077"] {
        let serve = Serve::after(umask, &[]);
        let mode = fs::symlink_metadata(&serve.socket).expect("it is there").mode();
        assert_eq!(mode & 0o777, 0o600, "{umask}: {mode:o}");
        serve.stop();
    }
}

#[test]
fn a_socket_is_taken_over_only_from_a_server_that_is_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("s.sock");
    drop(UnixListener::bind(&socket).expect("a socket whose server is gone"));
    let mut serving = typed("", folder.path(), &socket, &[]).start();
    until("it answers", || UnixStream::connect(&socket).is_ok());
    let second = typed("", folder.path(), &socket, &[]).run();
    assert_eq!(second.code, Some(2), "{second:?}");
    assert!(second.stderr.contains("a server answers on"), "{second:?}");
    assert!(UnixStream::connect(&socket).is_ok(), "the first one is untouched");
    serving.kill().expect("it is ours");
    serving.wait().expect("it ends");
    assert!(socket.exists(), "killed, it could remove nothing");
}

#[test]
fn what_is_no_socket_is_refused_and_untouched() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("notes.txt");
    fs::write(&file, "mine").expect("a file");
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    for path in [&file, &link] {
        let ran = typed("", folder.path(), path, &[]).run();
        assert!(ran.code == Some(2) && ran.stderr.contains("is no socket"), "{ran:?}");
    }
    assert_eq!(fs::read_to_string(&file).expect("still there"), "mine");
    let ran = typed("", folder.path(), &folder.path().join("x".repeat(200)), &[]).run();
    assert!(ran.code == Some(2) && ran.stderr.contains("too long for a socket"), "{ran:?}");
    let ran = typed("", folder.path(), &folder.path().join("none/s.sock"), &[]).run();
    assert!(ran.code == Some(2) && ran.stderr.contains("folder"), "{ran:?}");
}

#[test]
fn another_user_is_let_go_even_where_the_file_would_let_him_in() {
    if !host::has("root", nix::unistd::geteuid().is_root()) {
        return;
    }
    let serve = Serve::start(&[]);
    let open = |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
    open(&serve.socket, 0o777);
    open(serve.socket.parent().expect("a folder"), 0o755);
    let script = "const s=require('net').connect(process.argv[1]);s.on('data',d=>process.stdout.write(d.subarray(4)));s.on('error',e=>console.log(e.code))";
    let node = host::nodes().remove(0);
    let said = |uid: u32| {
        let mut command = Command::new(&node);
        command.args(["-e", script]).arg(&serve.socket).uid(uid).gid(uid).env_clear().current_dir("/");
        let mut child = command.stdout(std::process::Stdio::piped()).spawn().expect("node starts");
        // The server closes on a stranger; the control, who may stay, is ended here.
        let began = Instant::now();
        while child.try_wait().expect("ours").is_none() && began.elapsed() < Duration::from_secs(3) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = child.kill();
        String::from_utf8(child.wait_with_output().expect("it ended").stdout).expect("text")
    };
    assert!(said(65534).contains("not_permitted"), "{}", said(65534));
    assert_eq!(said(0), "", "the control: root may stay, and is told nothing unasked");
    serve.stop();
}

#[test]
fn a_server_that_is_asked_to_end_lets_runs_that_go_on_end() {
    let serve = Serve::start(&[]);
    let mut link = serve.connect();
    link.start("r", "return openclaw.tools.search('x')", json!({}));
    let search = link.method("catalog.search");
    let mut idle = serve.connect();
    serve.signal(Signal::SIGTERM);
    assert_eq!(idle.goodbye().0, "draining");
    until("the name is gone at once", || !serve.socket.exists());
    let late = link.try_start("late", "return 1", json!({}));
    assert_eq!(link.answer_to(late)["error"]["data"]["code"], "draining");
    link.answer(&search, json!([tool("echo")]));
    assert_eq!(link.report_of("r")["ok"], true);
    assert_eq!(link.goodbye().0, "draining");
    serve.stop();
}

#[test]
fn asked_twice_it_does_not_wait() {
    let serve = Serve::start(&[]);
    let mut link = serve.connect();
    link.start("r", "return openclaw.tools.search('x')", json!({}));
    link.method("catalog.search");
    serve.signal(Signal::SIGTERM);
    until("it is draining", || !serve.socket.exists());
    let began = Instant::now();
    serve.signal(Signal::SIGINT);
    assert_eq!(link.goodbye().0, "draining");
    serve.stop();
    assert!(began.elapsed() < SOON);
}

#[test]
fn a_connection_that_goes_takes_its_runs_with_it() {
    let serve = Serve::start(&[]);
    let mut stays = serve.connect();
    stays.start("stays", "return openclaw.tools.search('x')", json!({"limits": {"wallMs": 60000}}));
    let search = stays.method("catalog.search");
    let mut goes = serve.connect();
    for number in 0..8 {
        goes.start(&number.to_string(), "return openclaw.tools.search('x')", json!({}));
        goes.method("catalog.search");
    }
    // One that computes, too.
    goes.start("loop", "for(;;);", json!({"limits": {"wallMs": 60000}}));
    let busy = serve.busy_child();
    let began = Instant::now();
    drop(goes);
    until("what computed is gone", || !is_alive(busy));
    serve.comes_down_to(1);
    assert!(began.elapsed() < Duration::from_secs(10), "its runs do not wait for their clocks");
    stays.answer(&search, json!([]));
    assert_eq!(stays.report_of("stays")["value"], json!([]));
    serve.becomes_idle();
    serve.stop();
}
