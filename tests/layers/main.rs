//! The rules of the source tree that no compiler keeps.

mod source;

use source::{File, files, names_after, words};

/// The two addresses of `unsafe`.
const UNSAFE: [&str; 2] = ["supervisor/jail/object/", "supervisor/src/launch/sys.rs"];

/// Crates with one address each.
const ADDRESSES: [(&str, &[&str]); 4] = [
    ("async_nats", &["supervisor/src/fleet", "tests/fleet"]),
    ("rmcp", &["supervisor/src/catalog/mcp", "supervisor/src/serve/mcp"]),
    ("interprocess", &["supervisor/src/serve/socket", "supervisor/src/catalog/gateway"]),
    ("clap", &["supervisor/src/cli"]),
];

/// Folder and the modules of its crate that it must not know.
const DIRECTIONS: [(&str, &[&str]); 6] = [
    ("supervisor/src/launch/", &["run", "bridge", "catalog", "gate", "cli", "serve", "fleet", "modes"]),
    ("supervisor/src/bridge/", &["run", "catalog", "gate", "cli", "serve", "fleet", "modes"]),
    ("supervisor/src/catalog/", &["run", "bridge", "launch", "cli", "serve", "fleet", "modes"]),
    ("supervisor/src/gate/", &["run", "bridge", "launch", "cli", "serve", "fleet", "modes", "config"]),
    ("supervisor/src/config/", &["run", "bridge", "launch", "cli", "serve", "fleet", "modes", "telemetry"]),
    ("supervisor/src/telemetry/", &["run", "bridge", "launch", "cli", "serve", "fleet", "modes", "config"]),
];

/// `mod.rs` files with functions that every file of their folder uses. The list only gets shorter.
const MODS_WITH_FUNCTIONS: [&str; 4] =
    ["protocol/src/json/mod.rs", "protocol/src/message/mod.rs", "protocol/src/session/mod.rs", "supervisor/src/launch/template/mod.rs"];

const MOST_LINES: usize = 500;

fn rust() -> Vec<File> {
    let all = files(&["rs"]);
    assert!(all.len() > 80, "{} files: not the whole tree", all.len());
    all
}

fn none(what: &str, found: &[String]) {
    assert!(found.is_empty(), "{what}:\n{}", found.join("\n"));
}

#[test]
fn unsafe_has_two_addresses() {
    let tree = rust();
    let uses: Vec<&File> = tree.iter().filter(|file| words(&file.code()).any(|word| word == "unsafe")).collect();
    for address in UNSAFE {
        assert!(uses.iter().any(|file| file.path.starts_with(address)), "{address} has none: is it still one?");
    }
    let elsewhere: Vec<String> = uses
        .into_iter()
        .filter(|file| !UNSAFE.iter().any(|address| file.path.starts_with(address)))
        .map(|file| file.path.clone())
        .collect();
    none("unsafe elsewhere", &elsewhere);
}

#[test]
fn a_crate_with_an_address_is_used_nowhere_else() {
    let tree = rust();
    let mut found = Vec::new();
    for (name, addresses) in ADDRESSES {
        for file in &tree {
            let at_home = addresses.iter().any(|address| file.path.starts_with(address));
            if !at_home && file.code().contains(&format!("{name}::")) {
                found.push(format!("{}: {name}", file.path));
            }
        }
    }
    none("used away from its address", &found);
}

#[test]
fn nobody_imports_against_the_direction() {
    let tree = rust();
    let mut found = Vec::new();
    let mut seen = 0;
    for (folder, forbidden) in DIRECTIONS {
        for file in tree.iter().filter(|file| file.path.starts_with(folder)) {
            seen += 1;
            for name in names_after("crate::", &file.code()) {
                if forbidden.contains(&name.as_str()) {
                    found.push(format!("{} imports {name}", file.path));
                }
            }
        }
    }
    assert!(seen > 20, "{seen} files");
    none("against the direction", &found);
}

#[test]
fn the_protocol_depends_on_serde_alone() {
    let manifest = source::read("protocol/Cargo.toml");
    let dependencies = manifest.split("[dependencies]").nth(1).and_then(|rest| rest.split("\n[").next()).expect("dependencies");
    let names: Vec<&str> =
        dependencies.lines().filter_map(|line| line.split(['.', '=', ' ']).next()).filter(|name| !name.is_empty()).collect();
    assert_eq!(names, ["serde", "serde_json"]);
}

#[test]
fn the_powers_of_tests_are_off_unless_asked_for() {
    let manifest = source::read("supervisor/Cargo.toml");
    assert!(manifest.contains("danger = []"));
    assert!(!manifest.contains("default = "), "no default feature, so none that turns it on");
    let workspace = source::read("Cargo.toml");
    let members = workspace.lines().find(|line| line.starts_with("default-members")).expect("default members");
    assert!(!members.contains("\"tests\"") && !members.contains("fuzz"), "{members}");
}

#[test]
fn files_stay_short() {
    let long: Vec<String> = files(&["rs", "js", "mjs", "cjs"])
        .into_iter()
        .filter(|file| file.text.lines().count() > MOST_LINES)
        .map(|file| format!("{}: {} lines", file.path, file.text.lines().count()))
        .collect();
    none("too long", &long);
}

#[test]
fn a_mod_rs_declares() {
    let found: Vec<String> = rust()
        .into_iter()
        .filter(|file| file.path.contains("/src/") && file.path.ends_with("/mod.rs"))
        .filter(|file| !MODS_WITH_FUNCTIONS.contains(&file.path.as_str()))
        .filter(|file| file.code().lines().any(is_function))
        .map(|file| file.path)
        .collect();
    none("functions in a mod.rs", &found);
}

/// A function at the margin: a free one.
fn is_function(line: &str) -> bool {
    let line =
        line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub(super) ")).or_else(|| line.strip_prefix("pub ")).unwrap_or(line);
    let line = line.strip_prefix("async ").unwrap_or(line);
    line.starts_with("fn ") || line.starts_with("const fn ")
}

#[test]
fn names_say_what_is_inside() {
    let vague = ["utils", "util", "helpers", "helper", "common", "imp", "misc"];
    let found: Vec<String> = files(&["rs", "js", "mjs", "cjs"])
        .into_iter()
        .map(|file| file.path)
        .filter(|path| path.split(['/', '.']).any(|part| vague.contains(&part)))
        .collect();
    none("names that hide", &found);
}

#[test]
fn no_registry_and_no_place_of_one_machine_is_named() {
    // Put together here, so that this file does not name them.
    let hosts = [concat!("npm", "js.org"), concat!("crates", ".io"), concat!("py", "pi.org")];
    let places = [concat!("/wo", "rk/"), concat!("/ho", "me/"), concat!("/ro", "ot/")];
    let mut found = Vec::new();
    // The attack bodies aim at places that many machines have.
    let texts = ["rs", "js", "mjs", "cjs", "md", "toml", "json", "json5", "sh", "yml"];
    for file in files(&texts) {
        if file.path.starts_with("tests/escape/bodies/") {
            continue;
        }
        for name in hosts.iter().chain(&places) {
            if file.text.contains(name) {
                found.push(format!("{}: {name}", file.path));
            }
        }
    }
    none("named", &found);
}
