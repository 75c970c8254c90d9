//! `codemode run --watch`.

use std::io::{BufRead, BufReader};
use std::process::ChildStdout;
use std::time::Duration;

use codemode_tests::binary::{Before, Typed, demo, finish};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{alone, folder, write};

fn next(lines: &mut std::io::Lines<BufReader<ChildStdout>>) -> String {
    lines.next().expect("a line").expect("text")
}

#[test]
fn a_change_of_the_body_or_the_catalog_runs_it_again() {
    let _turn = alone();
    let folder = folder();
    let place = folder.path();
    write(place, "body.js", "return (await openclaw.tools.search('echo')).length");
    write(place, "tools.json", std::fs::read(demo()).expect("it is there"));
    let before = Before::look(place);
    for launcher in ["auto", "spawn"] {
        write(place, "body.js", "return (await openclaw.tools.search('echo')).length");
        write(place, "tools.json", std::fs::read(demo()).expect("it is there"));
        let mut child = Typed::new(place, ["run", "body.js", "--tools", "tools.json", "--watch", "--launcher", launcher]).start();
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        assert_eq!(next(&mut lines), "1");
        // Two states of a file within one tick of the file system's clock, and of one size, are the same to anybody who looks.
        std::thread::sleep(Duration::from_millis(50));
        // As editors save: a new file under the old name.
        write(place, "body.new", "return 'second'");
        std::fs::rename(place.join("body.new"), place.join("body.js")).expect("it is ours");
        assert_eq!(next(&mut lines), "second");
        write(place, "body.js", "return (");
        std::thread::sleep(Duration::from_millis(600));
        write(place, "body.js", "return (await openclaw.tools.search('echo')).length");
        assert_eq!(next(&mut lines), "1");
        write(place, "tools.json", "[broken");
        std::thread::sleep(Duration::from_millis(600));
        write(place, "tools.json", "[]");
        assert_eq!(next(&mut lines), "0");
        // A run that goes on gives way to the next.
        write(place, "body.js", "console.log('loops'); while (true) {}");
        std::thread::sleep(Duration::from_millis(600));
        write(place, "body.js", "return 'last'");
        assert_eq!(next(&mut lines), "last");
        kill(Pid::from_raw(i32::try_from(child.id()).expect("a pid")), Signal::SIGINT).expect("it is ours");
        drop(lines);
        let ran = finish(child);
        assert_eq!(ran.code, Some(130), "{ran:?}");
        for told in ["== run 1: first run ==", "== run 2: body.js has changed ==", "error[syntax_error]", "tools.json has changed ==", "is neither JSON nor JSON5"] {
            assert!(ran.stderr.contains(told), "{told} not in {}", ran.stderr);
        }
        assert!(!ran.stderr.contains("error[timeout]") && !ran.stderr.contains("error[cancelled]"), "{}", ran.stderr);
        assert_eq!(before.leftovers(), Vec::<String>::new());
    }
}
