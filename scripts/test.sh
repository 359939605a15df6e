#!/usr/bin/env bash
# Do all the set-up, then run every test, those with real containers too: an engine that is missing is a failure, not a skip.
# Behind `make test`; arguments go on to pytest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/steps.sh
pairbench=.venv/bin/pairbench

step "setup" scripts/setup.sh
step "engine" scripts/engine.sh start
step "images" "$pairbench" images build

required=(--require docker)
for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null; then
        required+=(--require chromium)
        break
    fi
done
if command -v docker-compose >/dev/null; then required+=(--require compose); fi
if [ "$(id -u)" -eq 0 ] && command -v dockerd >/dev/null; then required+=(--require daemon); fi
if [ "$(id -u)" -eq 0 ] && command -v podman >/dev/null; then required+=(--require podman); fi
# Debian's program, unpacked; elsewhere whoever wants these tests brings it.
if scripts/registry.sh; then required+=(--require registry); fi
environment=$("$pairbench" images list --json | .venv/bin/python scripts/images_env.py)
eval "$environment"
step "tests" .venv/bin/python -m pytest "${required[@]}" "$@"
step_times_table
