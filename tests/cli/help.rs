//! Help, completions and manual pages.

use codemode_tests::binary::{Ran, Typed};

use super::{folder, together};

fn typed(words: &[&str]) -> Ran {
    Typed::new(folder().path(), words).run()
}

#[test]
fn every_command_has_help_with_examples_that_fits_the_screen() {
    let _turn = together();
    for command in [&[][..], &["run"], &["tools"], &["completions"], &["man"]] {
        let ran = typed(&[command, &["--help"]].concat());
        assert!(ran.code == Some(0) && ran.stderr.is_empty(), "{ran:?}");
        assert!(ran.stdout.contains("Examples:") || ran.stdout.contains("First steps:"), "{command:?}: {}", ran.stdout);
    }
    assert!(typed(&["--version"]).stdout.starts_with("codemode "));
    let nothing = typed(&[]);
    assert!(nothing.code == Some(2) && nothing.stdout.is_empty() && nothing.stderr.contains("Usage: codemode"), "{nothing:?}");
}

#[test]
fn completions_and_pages_come_from_the_same_definitions() {
    let _turn = together();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = typed(&["completions", shell]);
        assert!(ran.code == Some(0) && ran.stdout.contains("--timeout") || ran.stdout.contains("-l timeout"), "{shell}");
    }
    let page = typed(&["man", "run"]).stdout;
    assert!(page.contains(".TH CODEMODE-RUN 1") && page.contains(r"\-\-timeout"), "{page}");
    assert!(typed(&["man"]).stdout.contains(".TH CODEMODE 1"));
    assert!(typed(&["man", "tools", "call"]).stdout.contains(".TH CODEMODE-TOOLS-CALL 1"));
}

#[test]
fn the_bash_completion_is_a_script_that_bash_reads() {
    let _turn = together();
    let folder = folder();
    let script = super::write(folder.path(), "completion", typed(&["completions", "bash"]).stdout);
    let read = std::process::Command::new("bash").arg("-n").arg(script).status();
    assert!(read.is_ok_and(|status| status.success()));
}
