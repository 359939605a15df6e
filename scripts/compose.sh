#!/usr/bin/env bash
# docker-compose is there, installed from the distribution when it wasn't: the tests make attempts again by hand with it. Behind `make compose`.
set -euo pipefail

if command -v docker-compose >/dev/null; then exit 0; fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    printf 'compose: install docker-compose 1.29 or newer, for example:\n  sudo apt-get install -y docker-compose\n' >&2
    exit 3
fi
export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
apt=(apt-get -qq -o DPkg::Lock::Timeout=300)
"${apt[@]}" install -y --no-install-recommends docker-compose </dev/null ||
    { "${apt[@]}" update </dev/null && "${apt[@]}" install -y --no-install-recommends docker-compose </dev/null; }
