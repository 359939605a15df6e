#!/usr/bin/env bash
# Do all the set-up, then run every fault scenario and compare. Behind `make faults`; arguments name the parts to run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/steps.sh

step "setup" scripts/setup.sh
step "engine" scripts/engine.sh start
step "images" .venv/bin/pairbench images build
step "faults" .venv/bin/python -m scripts.faults "$@"
if [ $# -eq 0 ]; then
    step "reconciliation" .venv/bin/python -m scripts.faults claude codex messages \
        --folder corpora/reconciliation --runs .cache/reconciliation
fi
step_times_table
