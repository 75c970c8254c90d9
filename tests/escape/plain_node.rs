//! Controls: the same bodies in a plain Node, where nothing holds them.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use codemode_tests::host;
use codemode_tests::listeners::{CANARY_NAME, CANARY_TEXT};
use tokio::process::Command;

use crate::corpus::Body;

/// A body as an async function with `require`, as in a script of somebody who trusts it.
const MAIN_REALM: &str = "
    const fs = require('fs');
    globalThis.require = require;
    const AsyncFunction = (async () => {}).constructor;
    new AsyncFunction(fs.readFileSync(process.argv[1], 'utf8'))().then(
        (value) => { fs.writeSync(1, 'VALUE ' + value + '\\n'); process.exit(0); },
        (error) => { fs.writeSync(1, 'ERROR ' + error + '\\n'); process.exit(1); });";

/// A body in a context of `node:vm` as its manual shows it, with code from strings off and everything it is given made inside.
const PLAIN_CONTEXT: &str = "
    const fs = require('fs');
    const vm = require('vm');
    const context = vm.createContext(Object.create(null), { codeGeneration: { strings: false, wasm: false } });
    const said = vm.runInContext(`
        const said = [];
        globalThis.console = { log(...words) { said.push(words.join(' ')); } };
        globalThis.openclaw = { tools: { async call() { return null; } } };
        said`, context);
    const body = fs.readFileSync(process.argv[1], 'utf8');
    const tell = (value) => { fs.writeSync(1, said.join('\\n') + '\\nVALUE ' + String(value) + '\\n'); process.exit(0); };
    process.on('unhandledRejection', () => {});
    setTimeout(() => tell('nothing'), 2000).unref();
    new vm.Script('(async () => {' + body + '\\n})()', { filename: 'body.js' }).runInContext(context).then(tell, tell);";

/// Longer than any of the bodies that are run here.
const PATIENCE: Duration = Duration::from_secs(8);

/// What a body of the main realm says in a plain Node. It has an open file on descriptor 5, as a careless parent leaves one.
pub async fn in_the_main_realm(body: &Path) -> String {
    said(MAIN_REALM, body).await
}

/// What a guest body says in a plain context.
pub async fn in_a_plain_context(body: &Body) -> String {
    said(PLAIN_CONTEXT, &body.path).await
}

async fn said(script: &str, body: &Path) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("open"), b"open").expect("it is ours");
    let child = Command::new("sh")
        .args(["-c", "exec \"$0\" -e \"$1\" \"$2\" 5<>open"])
        .arg(&host::nodes()[0])
        .arg(script)
        .arg(body)
        .env(CANARY_NAME, CANARY_TEXT)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("a shell starts");
    let pid = child.id().expect("it is not reaped");
    let output = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
    sweep(pid);
    match output {
        Ok(output) => {
            let output = output.expect("it can be waited for");
            // A body that becomes another program has only descriptor 2 to say so.
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
        }
        Err(_) => "it did not end".to_owned(),
    }
}

/// Removes what the bodies are known to write outside their folder, where the pid is part of the name.
fn sweep(pid: u32) {
    let names = [
        format!("/tmp/r{pid}"),
        format!("/tmp/p{pid}"),
        format!("/tmp/h{pid}.heapsnapshot"),
        format!("/tmp/esc{pid}"),
        "/dev/shm/r".to_owned(),
    ];
    for name in names {
        // Most of them are not there.
        let _ = fs::remove_file(name);
    }
    // A folder, and on few Nodes.
    let _ = fs::remove_dir_all(format!("/tmp/cc{pid}"));
}
