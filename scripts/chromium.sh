#!/usr/bin/env bash
# Chromium is there, installed from the distribution when it wasn't. Behind `make chromium`.
set -euo pipefail

for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null; then exit 0; fi
done
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    printf 'chromium: install Chromium or Chrome, for example:\n  sudo apt-get install -y chromium\n' >&2
    exit 3
fi
export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
apt=(apt-get -qq -o DPkg::Lock::Timeout=300)
"${apt[@]}" install -y --no-install-recommends chromium </dev/null ||
    { "${apt[@]}" update </dev/null && "${apt[@]}" install -y --no-install-recommends chromium </dev/null; }
