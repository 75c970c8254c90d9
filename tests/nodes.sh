#!/usr/bin/env bash
# Runs the tests that start children on each Node of CODEMODE_NODES (paths, separated by blanks), with both launchers.
# Without it the npm package `node` brings the lines 20, 22, 24 and 26 into target/nodes.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${CODEMODE_NODES:-}" ]; then
  case "$(uname -m)" in x86_64) machine=x64 ;; aarch64) machine=arm64 ;; *) echo "no Node packages for this processor" >&2; exit 1 ;; esac
  for line in 20 22 24 26; do
    folder="target/nodes/$line"
    if [ ! -x "$folder/node_modules/node-linux-$machine/bin/node" ]; then
      mkdir -p "$folder"
      npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund "node-linux-$machine@$line"
    fi
    CODEMODE_NODES="${CODEMODE_NODES:-} $PWD/$folder/node_modules/node-linux-$machine/bin/node"
  done
fi
cargo build -p codemode
failed=0
for node in $CODEMODE_NODES; do
  for launcher in spawn template; do
    echo "== $("$node" --version) $launcher"
    CODEMODE_NODE="$node" CODEMODE_LAUNCHER="$launcher" cargo test -p codemode-tests --test e2e --test escape --test run || failed=1
  done
done
# The matrix of attacks and walls takes both launchers and all Nodes at once: a claim wants its control on some line.
# shellcheck disable=SC2086 # a list of words
CODEMODE_NODES="$(printf '%s:' $CODEMODE_NODES | sed 's/:$//')" cargo test -p codemode-tests --test matrix || failed=1
exit "$failed"
