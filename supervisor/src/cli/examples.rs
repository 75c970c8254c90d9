//! The examples below each command's help.

pub(super) const ALL: &str = "\
First steps:
  echo 'return 1 + 1' | codemode run
  codemode run body.js --tools tools.json
  codemode run --help

Exit codes:
  0 a value              1 the body or the call failed
  2 usage, catalog file, output that cannot be written
  3 a limit              4 no usable Node, or a missing wall
  5 the child broke its rules
  70 a bug in codemode   130 stopped";

pub(super) const RUN: &str = "\
Standard output carries the value and nothing else: text as it is, everything else as JSON. Calls, logs and errors go to standard error.

Examples:
  codemode run body.js --tools tools.json
  echo 'return openclaw.tools.search(\"mail\")' | codemode run --tools tools.json
  codemode run body.js --tools tools.json --deny '*:delete*' --timeout 30000
  codemode run body.js --mcp mcp.json
  codemode run body.js --tools tools.json --watch
  codemode run body.js --tools tools.json --record run.json
  codemode run body.js --replay run.json
  codemode run body.js --json | jq .calls";

pub(super) const TOOLS: &str = "\
Examples:
  codemode tools list --tools tools.json
  codemode tools list --mcp mcp.json
  codemode tools search 'send a mail' --tools tools.json
  codemode tools describe echo --tools tools.json
  codemode tools call echo '{\"text\": \"hi\"}' --tools tools.json
  echo '{\"text\": \"hi\"}' | codemode tools call echo - --tools tools.json";

pub(super) const SERVE: &str = "\
The wire stands in protocol/docs/gateway.md, a client for Node in bridge-js/client. SIGTERM and SIGINT let runs that go on end within 10 s; the second one does not wait.

Examples:
  codemode serve --socket /run/user/1000/codemode.sock
  codemode serve --socket codemode.sock --concurrency 64 --session-log gateway.jsonl";

pub(super) const WORKER: &str = "\
It claims bodies while it has a free place, and has no tools and no secrets: what a body asks for is asked of the gateway that sent it. Permissions for NATS, and how many
machines it takes, stand in supervisor/docs/fleet.md. SIGTERM and SIGINT let runs that go on end (--drain); none is claimed meanwhile.

Examples:
  codemode worker --nats nats://127.0.0.1:4222
  codemode worker --nats tls://nats.example:4222 --creds worker-1.creds --name worker-1 --concurrency 64
  codemode mcp --tools tools.json --fleet nats://127.0.0.1:4222     (a gateway of the same fleet)";

pub(super) const DOCTOR: &str = "\
Each act is tried by a Node process that runs no JavaScript, without any wall (it must succeed) and with that wall alone (it must fail).
enforced: both did. untested: it fails here without the wall too, so nothing was shown.

Exit codes: 0 a run with the default walls would start; 4 it would not.

Examples:
  codemode doctor
  codemode doctor --node /opt/node-24/bin/node
  codemode doctor --json | jq '.walls[] | {name, status, reason}'";

pub(super) const REPORT: &str = "\
Examples:
  codemode run body.js --tools tools.json --session-log session.jsonl
  codemode report session.jsonl
  codemode report session.jsonl --html session.html";

pub(super) const COMPLETIONS: &str = "\
Examples:
  codemode completions bash > ~/.local/share/bash-completion/completions/codemode
  codemode completions zsh > ~/.zfunc/_codemode
  codemode completions fish > ~/.config/fish/completions/codemode.fish";

pub(super) const MAN: &str = "\
Examples:
  codemode man | man -l -
  codemode man run > codemode-run.1
  codemode man tools call > codemode-tools-call.1";

pub(super) const MCP: &str = "\
Standard input and output carry the protocol and nothing else; notes go to standard error. Everything that was done for a client ends when it goes.

Examples:
  codemode mcp --tools tools.json
  codemode mcp --tools tools.json --mode directory
  codemode mcp --tools tools.json --http 8808     (clients connect to http://127.0.0.1:8808/mcp)
  codemode mcp --tools tools.json --config codemode.json5 --agent main --session-log session.jsonl

In the configuration of an MCP client:
  {\"mcpServers\": {\"codemode\": {\"command\": \"codemode\", \"args\": [\"mcp\", \"--tools\", \"tools.json\"]}}}";
