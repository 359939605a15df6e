#!/usr/bin/env bash
# Every test, those with real containers too: an engine that is missing is a failure, not a skip. Behind `make test`.
# Arguments go on to pytest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

required=(--require docker)
for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null; then
        required+=(--require chromium)
        break
    fi
done
if [ "$(id -u)" -eq 0 ] && command -v dockerd >/dev/null; then required+=(--require daemon); fi
environment=$(.venv/bin/pairbench images list --json | .venv/bin/python scripts/images_env.py)
eval "$environment"
exec .venv/bin/python -m pytest "${required[@]}" "$@"
