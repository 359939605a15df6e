#!/usr/bin/env bash
# Format, lint, types, import contracts and shell syntax. Behind `make lint`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/steps.sh

shell_syntax() {
    local file
    for file in scripts/*.sh .ci/run; do bash -n "$file"; done
}

step "format" .venv/bin/python -m ruff format --check --quiet .
step "lint" .venv/bin/python -m ruff check --quiet .
step "types" .venv/bin/python -m mypy
step "import contracts" .venv/bin/lint-imports --no-logo
step "shell syntax" shell_syntax
step_times_table
