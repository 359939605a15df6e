#!/usr/bin/env bash
# Remove everything that make made, but no evidence: runs/ stays. Behind `make clean`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/engine.sh remove
rm -rf --one-file-system .venv .cache dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
find . -path ./runs -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
