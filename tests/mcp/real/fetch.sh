#!/usr/bin/env bash
# Fetches the real MCP servers of the tests, in the versions whose lists are recorded, into target/mcp-servers (or the folder that is named).
# Exit code 75: a registry cannot be reached, so there is nothing to test with.
set -uo pipefail
cd "$(dirname "$0")/../../.."
into=${1:-target/mcp-servers}
stamp="$into/complete-2"
[ -e "$stamp" ] && exit 0
mkdir -p "$into"

unreached() {
  echo "SKIPPED: $1 cannot be fetched; see $into/fetch.log" >&2
  exit 75
}

# What the servers say of their schemas depends on the zod that they find; the lists were recorded where other packages held it at 3.
npm install --prefix "$into" --ignore-scripts --no-audit --no-fund --no-save \
  @modelcontextprotocol/server-everything@2026.8.31 \
  @modelcontextprotocol/server-filesystem@2026.8.31 \
  @modelcontextprotocol/server-memory@2026.8.31 \
  @modelcontextprotocol/server-sequential-thinking@2026.8.31 zod@3.25.76 > "$into/fetch.log" 2>&1 || unreached "npm packages"
python3 -m venv "$into/python" >> "$into/fetch.log" 2>&1 || unreached "a Python environment"
"$into/python/bin/pip" install --quiet mcp-server-time==2026.10.19 mcp-server-git==2026.10.19 >> "$into/fetch.log" 2>&1 || unreached "Python packages"
# This one does not start with a newer library, so it has an environment of its own.
python3 -m venv "$into/python-sqlite" >> "$into/fetch.log" 2>&1 || unreached "a Python environment"
"$into/python-sqlite/bin/pip" install --quiet mcp-server-sqlite==2025.4.25 mcp==1.30.0 >> "$into/fetch.log" 2>&1 || unreached "Python packages"
touch "$stamp"
