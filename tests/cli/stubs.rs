//! Programs in Node's place.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use codemode_tests::host;

/// Says that it is Node 24 and waits; writes each of its starts down first.
const PRETENDER: &str = r#"
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int count, char **words) {
    FILE *log = fopen(LOG, "a");
    if (log) {
        for (int i = 1; i < count; i++) fprintf(log, "%.20s ", words[i]);
        fprintf(log, "\n");
        fclose(log);
    }
    if (count > 1 && !strcmp(words[1], "--version")) {
        puts("v24.1.0");
        return 0;
    }
    for (;;) pause();
}
"#;

/// A program that says it is Node and writes down how it was started. It is linked statically: another one would be in the jail by then, and could write
/// nothing down.
pub struct Pretender {
    pub path: PathBuf,
    log: PathBuf,
}

impl Pretender {
    /// Builds one. `None`: this host has no C compiler or no static libc, and `CODEMODE_EXPECT` says so.
    pub fn build(folder: &Path, name: &str) -> Option<Pretender> {
        if !host::has("cc", host::program("cc").is_some()) {
            return None;
        }
        let (source, path, log) = (folder.join(format!("{name}.c")), folder.join(name), folder.join(format!("{name}.log")));
        fs::write(&source, PRETENDER).expect("it is ours");
        fs::write(&log, "").expect("it is ours");
        let mut command = Command::new("cc");
        command.arg(format!("-DLOG={:?}", log.display().to_string())).args(["-static", "-o"]).arg(&path).arg(&source);
        let built = command.status().is_ok_and(|status| status.success());
        host::has("static-libc", built).then_some(Pretender { path, log })
    }

    /// The starts since this was asked last, other than the question for its version.
    pub fn started(&self) -> Option<String> {
        let log = fs::read_to_string(&self.log).expect("it was made");
        fs::write(&self.log, "").expect("it is ours");
        let starts: String = log.lines().filter(|line| line.trim() != "--version").collect();
        (!starts.is_empty()).then_some(starts)
    }
}

/// A shell script that may be run.
pub fn script(folder: &Path, name: &str, text: &str) -> PathBuf {
    let file = folder.join(name);
    fs::write(&file, format!("#!/bin/sh\n{text}\n")).expect("it is ours");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("it is ours");
    file
}
