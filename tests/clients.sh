#!/usr/bin/env bash
# Real MCP clients against `codemode mcp`, over pipes and over HTTP, in each mode: the TypeScript SDK, the Python SDK, the inspector; then the conformance suite.
# Prints a table, and ends with 1 if anything failed. Clients come into target/clients; without their registries this ends with 75 and says so.
set -uo pipefail
cd "$(dirname "$0")/.."
cargo build -p codemode || exit 1
bash tests/serve/clients/fetch.sh || { echo "LEFT OUT: the clients cannot be fetched; nothing was tested" >&2; exit 75; }

program="$(realpath "${CARGO_TARGET_DIR:-target}/debug/codemode")"
catalog="$PWD/examples/demo.json"
here="$PWD/tests/serve/clients"
clients="$PWD/target/clients"
node="$(ls "$clients"/node_modules/node-linux-*/bin/node 2>/dev/null | head -1)"
node="${node:-node}"
python="$clients/python/bin/python"
scratch="$(mktemp -d)"
server=
trap 'if [ -n "$server" ]; then kill "$server"; fi; rm -rf "$scratch"' EXIT
failed=0

row() { printf '%-28s %-6s %-10s %s\n' "$@"; }

# row_of CLIENT TRANSPORT MODE COMMAND...: runs it, at most a minute
row_of() {
  local client=$1 transport=$2 mode=$3
  shift 3
  if timeout 60 "$@" >"$scratch/out" 2>&1 </dev/null; then
    row "$client" "$transport" "$mode" passed
  else
    row "$client" "$transport" "$mode" FAILED
    tail -15 "$scratch/out" | sed 's/^/    /'
    failed=1
  fi
}

# serve WORDS...: a server over HTTP; sets url
serve() {
  "$program" mcp --http 0 "$@" 2>"$scratch/log" &
  server=$!
  for _ in $(seq 200); do
    url="$(sed -n 's/.*serving MCP at \(http:[^ ]*\)$/\1/p' "$scratch/log")"
    if [ -n "$url" ]; then return; fi
    sleep 0.05
  done
  cat "$scratch/log" >&2
  exit 1
}

stop() {
  kill "$server" && wait "$server"
  server=
}

# inspect TRANSPORT MODE [URL]: lists and calls
inspect() {
  local target='"type": "http", "url": "'"${3:-}"'"'
  if [ "$1" = stdio ]; then target='"command": "'"$program"'", "args": ["mcp", "--tools", "'"$catalog"'", "--mode", "'"$2"'"]'; fi
  echo "{\"mcpServers\": {\"codemode\": {$target}}}" >"$scratch/mcp.json"
  local run=("$node" "$clients/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js" --cli --config "$scratch/mcp.json" --server codemode)
  local tool=tool_search argument='query=counter' wanted=demo:count
  if [ "$2" = code ]; then tool=tool_search_code argument='code=return 6 * 7' wanted='"value": *42'; fi
  HOME="$scratch" "${run[@]}" --method tools/list >"$scratch/listed" || return 1
  HOME="$scratch" "${run[@]}" --method tools/call --tool-name "$tool" --tool-arg "$argument" >"$scratch/called" || return 1
  grep -q "\"$tool\"" "$scratch/listed" && grep -q "$wanted" "$scratch/called" || { cat "$scratch/listed" "$scratch/called"; return 1; }
}
export -f inspect
export program catalog clients node scratch

row client over mode result
for mode in code tools directory; do
  row_of 'TypeScript SDK' stdio "$mode" "$node" "$here/sdk.mjs" "$clients" "$program" "$catalog" stdio "$mode"
  row_of 'Python SDK' stdio "$mode" "$python" "$here/sdk.py" "$program" "$catalog" stdio "$mode" auto
  row_of 'Python SDK, initialize' stdio "$mode" "$python" "$here/sdk.py" "$program" "$catalog" stdio "$mode" legacy
  row_of 'inspector --cli' stdio "$mode" bash -c 'inspect "$@"' inspect stdio "$mode"
  serve --tools "$catalog" --mode "$mode"
  row_of 'TypeScript SDK' http "$mode" "$node" "$here/sdk.mjs" "$clients" "$program" "$catalog" http "$mode" "$url"
  row_of 'Python SDK' http "$mode" "$python" "$here/sdk.py" "$program" "$catalog" http "$mode" auto "$url"
  row_of 'Python SDK, initialize' http "$mode" "$python" "$here/sdk.py" "$program" "$catalog" http "$mode" legacy "$url"
  row_of 'inspector --cli' http "$mode" bash -c 'inspect "$@"' inspect http "$mode" "$url"
  stop
done

echo
echo 'conformance suite (what is expected to fail, and why: tests/serve/clients/expected.yml)'
serve --tools "$here/conformance.json5" --mode directory
suite="$clients/node_modules/@modelcontextprotocol/conformance/dist/index.js"
timeout 300 "$node" "$suite" server --url "$url" --suite all --expected-failures "$here/expected.yml" -o "$scratch/suite" >"$scratch/out" 2>&1 || failed=1
sed -n '/=== SUMMARY ===/,$p' "$scratch/out"
stop
exit "$failed"
