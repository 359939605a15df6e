#!/usr/bin/env bash
# Do all the set-up, then run, verify and report each study named. Behind `make bench`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/steps.sh
pairbench=.venv/bin/pairbench

step "setup" scripts/setup.sh
step "engine" scripts/engine.sh start
step "images" "$pairbench" images build
for study in "$@"; do
    step "run $study" "$pairbench" run "$study"
    step "verify $study" "$pairbench" verify latest
    step "report $study" "$pairbench" report latest
done
step_times_table
