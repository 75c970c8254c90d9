//! `codemode run --watch`.

use std::io::{BufRead, BufReader, Read};
use std::process::{ChildStderr, ChildStdout};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use codemode_tests::binary::{Before, Typed, demo, finish};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{alone, folder, write};

fn next(lines: &mut std::io::Lines<BufReader<ChildStdout>>) -> String {
    lines.next().expect("a line").expect("text")
}

/// What was said so far.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<String>>);

impl Said {
    fn listen(mut stderr: ChildStderr) -> Said {
        let said = Said::default();
        let heard = said.clone();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = stderr.read(&mut piece) {
                heard.0.lock().expect("nobody panics with it").push_str(&String::from_utf8_lossy(&piece[..length]));
            }
        });
        said
    }

    fn text(&self) -> String {
        self.0.lock().expect("nobody panics with it").clone()
    }

    fn wait_for(&self, words: &str) {
        let began = Instant::now();
        while !self.text().contains(words) {
            assert!(began.elapsed() < Duration::from_secs(20), "{words} not in {}", self.text());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
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
        let said = Said::listen(child.stderr.take().expect("it is piped"));
        assert_eq!(next(&mut lines), "1");
        // Two states of a file within one tick of the file system's clock, and of one size, are the same to anybody who looks.
        std::thread::sleep(Duration::from_millis(50));
        // As editors save: a new file under the old name.
        write(place, "body.new", "return 'second'");
        std::fs::rename(place.join("body.new"), place.join("body.js")).expect("it is ours");
        assert_eq!(next(&mut lines), "second");
        write(place, "body.js", "return (");
        said.wait_for("error[syntax_error]");
        write(place, "body.js", "return (await openclaw.tools.search('echo')).length");
        assert_eq!(next(&mut lines), "1");
        write(place, "tools.json", "[broken");
        said.wait_for("is neither JSON nor JSON5");
        write(place, "tools.json", "[]");
        assert_eq!(next(&mut lines), "0");
        // A run that goes on gives way to the next.
        write(place, "body.js", "console.log('loops'); while (true) {}");
        said.wait_for("\nloops\n");
        write(place, "body.js", "return 'last'");
        assert_eq!(next(&mut lines), "last");
        kill(Pid::from_raw(i32::try_from(child.id()).expect("a pid")), Signal::SIGINT).expect("it is ours");
        drop(lines);
        assert_eq!(finish(child).code, Some(130), "{}", said.text());
        let said = said.text();
        for told in [
            "== run 1: first run ==",
            "== run 2: body.js has changed ==",
            "error[syntax_error]",
            "tools.json has changed ==",
            "is neither JSON nor JSON5",
        ] {
            assert!(said.contains(told), "{told} not in {said}");
        }
        assert!(!said.contains("error[timeout]") && !said.contains("error[cancelled]"), "{said}");
        assert_eq!(before.leftovers(), Vec::<String>::new());
    }
}
