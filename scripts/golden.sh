#!/usr/bin/env bash
# Make every golden file again, by the script that stands beside it. Behind `make golden`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# What pytest puts on the path, so that a script can use the programs of the images.
export PYTHONPATH=.:images/gateway:images/trial:images/qdrant
for script in tests/golden/*/make.py; do
    printf '%s\n' "$script" >&2
    .venv/bin/python "$script"
done
git status --short tests/golden
