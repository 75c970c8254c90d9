//! Makes what a child is given and embeds it: the jail object and the bridge.
//!
//! Needs, beside the Rust toolchain, `node` and `npm` (CODEMODE_NODE or the PATH): the bridge's parser is an npm package, locked in `bridge-js/package-lock.json`,
//! fetched and bundled here. Nothing of npm is needed at run time.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(variable("OUT_DIR"));
    jail_object(&here, &out);
    bridge(&here.join("../bridge-js"), &out);
}

fn variable(name: &str) -> String {
    match env::var(name) {
        Ok(value) => value,
        Err(_) => panic!("cargo sets {name}"),
    }
}

/// Compiles `jail/object`. It is no crate: linking it into the supervisor would jail the supervisor.
fn jail_object(here: &Path, out: &Path) {
    let source = here.join("jail/object");
    watch(&source);
    watch(&here.join("jail/plan/src"));
    let mut command = Command::new(variable("RUSTC"));
    command.args(["--edition", "2024", "--crate-name", "jail", "--crate-type", "cdylib", "--target", &variable("TARGET")]);
    // Fixed, whatever the profile: without optimisation the compiler asks for an unwinder that is not there.
    command.args(["-C", "panic=abort", "-C", "opt-level=s", "-C", "lto=fat", "-C", "strip=symbols"]);
    command.args(["-C", "link-arg=-nostartfiles", "-C", "link-arg=-Wl,-z,defs", "-D", "warnings"]);
    // Scripts of system calls are a power of tests.
    command.args(["--check-cfg", "cfg(danger)"]);
    if env::var_os("CARGO_FEATURE_DANGER").is_some() {
        command.args(["--cfg", "danger"]);
    }
    command.arg("-o").arg(out.join("jail.so")).arg(source.join("lib.rs"));
    run(&mut command, "compile the jail object");
}

/// Bundles `bridge-js` in a copy, so that the source tree stays as it is.
fn bridge(source: &Path, out: &Path) {
    let copy = out.join("bridge-js");
    for part in ["package.json", "package-lock.json", "build.mjs", "flags.json", "src"] {
        watch(&source.join(part));
        copy_tree(&source.join(part), &copy.join(part));
    }
    println!("cargo:rerun-if-env-changed=CODEMODE_NODE");
    let lock = fs::read(copy.join("package-lock.json")).expect("package-lock.json was just copied");
    let installed = copy.join("node_modules/.codemode-lock");
    if fs::read(&installed).ok().as_deref() != Some(&lock) {
        run(
            Command::new("npm").args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(&copy),
            "fetch the bridge's parser (npm ci)",
        );
        fs::write(&installed, &lock).expect("OUT_DIR is writable");
    }
    let node = env::var_os("CODEMODE_NODE").filter(|node| !node.is_empty()).unwrap_or_else(|| "node".into());
    run(Command::new(node).arg("build.mjs").arg(out).current_dir(&copy), "bundle the bridge");
}

fn watch(path: &Path) {
    println!("cargo:rerun-if-changed={}", path.display());
}

fn copy_tree(from: &Path, to: &Path) {
    if from.is_dir() {
        // A file that was removed at the source must not live on in the copy.
        let _ = fs::remove_dir_all(to);
        fs::create_dir_all(to).expect("OUT_DIR is writable");
        for entry in fs::read_dir(from).expect("a folder of the source tree") {
            let entry = entry.expect("an entry of the source tree");
            copy_tree(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).expect("OUT_DIR is writable");
        }
        if let Err(error) = fs::copy(from, to) {
            panic!("cannot copy {}: {error}", from.display());
        }
    }
}

fn run(command: &mut Command, what: &str) {
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => panic!("cannot {what}: {:?}: {error}\nInstall Node 20.19 or newer with npm.", command.get_program()),
    };
    if !output.status.success() {
        let arguments: Vec<&OsStr> = command.get_args().collect();
        panic!(
            "cannot {what}: {:?} {arguments:?}\n{}\n{}",
            command.get_program(),
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
