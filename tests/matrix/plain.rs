//! Controls: a Node, a context or a host with nothing in the way.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::process::Command;

use codemode::launch::Trial;

use crate::scene::Seen;

/// A body in a context of `node:vm` as its manual shows it, code from strings off, with a bridge as one would first write it: in the body's own realm,
/// checking a call's arguments before it sends them; or, careless, with objects of the main realm inside and everything on. Every object of the main realm has the mark. Calls are told on descriptor 1.
const CONTEXT: &str = r"
    const fs = require('fs');
    const vm = require('vm');
    const tell = (word, text) => fs.writeSync(1, word + ' ' + text + '\n');
    Object.defineProperty(Object.prototype, 'realmMark', { value: process.argv[2], writable: true, configurable: true });
    const careless = process.argv[3] === 'careless';
    const own = { log: (...words) => tell('LOG', words.map(String).join(' ')) };
    const look = () => { for (const key of ['result', 'output', 'exports', 'value', 'error']) { try { void sandbox[key]; } catch {} } };
    const call = async (id, args = {}) => { look(); tell('CALL', JSON.stringify({ id, args })); if (args === null || typeof args !== 'object') throw new TypeError('args'); return id === 'echo' ? Object.assign({}, JSON.parse(JSON.stringify(args))) : null; };
    const sandbox = careless ? { console: own, openclaw: { tools: { call } }, setTimeout, WebAssembly } : Object.create(null);
    const context = vm.createContext(sandbox, { codeGeneration: { strings: careless, wasm: careless } });
    const make = vm.runInContext(`(send, log) => {
        const pending = new Map();
        let last = 0;
        globalThis.console = { log(...words) { log(words.map(String).join(' ')); } };
        globalThis.console.warn = globalThis.console.error = globalThis.console.log;
        globalThis.openclaw = { tools: {
          async call(id, args = {}) {
            if (!['noop', 'echo', 'slow'].includes(String(id))) throw new Error('unknown tool');
            if (args.path !== undefined && !String(args.path).startsWith('/allowed')) throw new Error('not allowed');
            const number = ++last;
            return new Promise((resolve) => {
              pending.set(number, { resolve });
              const answer = send(JSON.stringify({ id: String(id), args }));
              pending.get(number).resolve(JSON.parse(answer));
            });
          },
          async search() { return []; },
          async describe() { return {}; } } };
      }`, context);
    if (!careless) make((text) => { tell('CALL', text); const { id, args } = JSON.parse(text); return JSON.stringify(id === 'echo' ? args : null); },
         (text) => tell('LOG', text));
    const body = fs.readFileSync(process.argv[1], 'utf8');
    const end = (value) => {
      let text; try { text = typeof value === 'string' ? value : JSON.stringify(value); } catch { text = '?'; }
      if (value !== null && typeof value === 'object' && value.stack) text = String(value.stack);
      tell('VALUE', text); process.exit(0); };
    process.on('unhandledRejection', (reason) => { if (careless) tell('LOG', require('util').inspect(reason)); });
    setTimeout(() => end('nothing'), 1500).unref();
    new vm.Script('(async () => {' + body + '\n})()', { filename: 'body.js', ...(careless && { importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER }) })
      .runInContext(context).then(end, end);";

/// Two bodies one after the other in one process and one main realm: what an executor does that keeps its process.
const PAIR: &str = r"
    const fs = require('fs');
    globalThis.require = require;
    const tell = (word, text) => fs.writeSync(1, word + ' ' + text + '\n');
    const tools = { call: async (id, args = {}) => { if (id === 'slow') await new Promise((ok) => setTimeout(ok, args.ms)); return args; } };
    globalThis.openclaw = { tools };
    const AsyncFunction = (async () => {}).constructor;
    const bodies = fs.readFileSync(process.argv[1], 'utf8').split(/^-{3,}$/m);
    (async () => {
      let value;
      for (const body of bodies) { try { value = await new AsyncFunction(body)(); } catch (error) { value = error; } }
      tell('VALUE', typeof value === 'string' ? value : JSON.stringify(value));
      process.exit(0);
    })();";

/// A body in a plain context; it may take this long.
pub async fn in_a_context(node: &Path, body: &str, careless: bool, clock: Duration) -> Seen {
    run(node, CONTEXT, body, if careless { "careless" } else { "plain" }, clock).await
}

/// Two bodies in one plain process.
pub async fn one_after_the_other(node: &Path, bodies: &str, clock: Duration) -> Seen {
    run(node, PAIR, bodies, "plain", clock).await
}

async fn run(node: &Path, script: &str, body: &str, kind: &str, clock: Duration) -> Seen {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("body.js");
    fs::write(&path, body).expect("it is ours");
    let child = Command::new(node)
        .args(["--no-warnings", "-e", script])
        .arg(&path)
        .args([Trial::MARK, kind])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("Node starts");
    let began = Instant::now();
    let output = tokio::time::timeout(clock, child.wait_with_output()).await;
    let overtime = output.is_err();
    let text = match output {
        Ok(output) => {
            let output = output.expect("it can be waited for");
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
        }
        Err(_) => format!("it was still there after {} ms", began.elapsed().as_millis()),
    };
    let lines = |word: &str| {
        let of_word: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(word)).collect();
        of_word.join("\n")
    };
    let (value, backend) = (lines("VALUE "), lines("CALL "));
    Seen { told: text, value, backend, overtime, ..Seen::default() }
}
