#!/usr/bin/env bash
# Passes all tests of the workspace on one Node (CODEMODE_NODE, else the one in PATH), with both ways of starting a child.
set -euo pipefail
cd "$(dirname "$0")/.."
# The tests of the fleet start this server.
bash tests/fleet/server.sh
# The tests at the level of the program run this one.
cargo build -p codemode
cargo test --workspace
# What starts children runs again from the template; the rest does not know the difference.
CODEMODE_LAUNCHER=template cargo test -p codemode-tests --test e2e --test escape --test run --test cli --test serve
