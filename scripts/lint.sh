#!/usr/bin/env bash
# Format, lint, types, import contracts and shell syntax: all of them, also when one fails. Behind `make lint`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/steps.sh

shell_syntax() {
    local file
    for file in scripts/*.sh .ci/run; do bash -n "$file"; done
}

attempt "format" .venv/bin/python -m ruff format --check --quiet .
attempt "lint" .venv/bin/python -m ruff check --quiet .
attempt "types" .venv/bin/python -m mypy
attempt "import contracts" .venv/bin/lint-imports --no-logo
attempt "shell syntax" shell_syntax
end_of_attempts
