#!/usr/bin/env bash
# Makes sure that there is a nats-server, which the tests of the fleet start: installs Debian's package as root, and says what to install otherwise.
set -euo pipefail
has() { command -v nats-server >/dev/null || [ -x /usr/sbin/nats-server ]; }
has && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get install -y --no-install-recommends nats-server >/dev/null 2>&1 ||
    { apt-get update >/dev/null && apt-get install -y --no-install-recommends nats-server >/dev/null; }
fi
has || { echo 'missing: nats-server. Install the package nats-server (Debian, Ubuntu: apt-get install nats-server), or put its program on the PATH.' >&2; exit 1; }
