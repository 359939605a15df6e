#!/usr/bin/env bash
# Do all the set-up, then run, verify and report each study named. Behind `make bench`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/steps.sh
pairbench=.venv/bin/pairbench

step "setup" scripts/setup.sh
step "engine" scripts/engine.sh start
# Only what its studies run in: other clients' images are large, and built by the run that needs them.
step "images" "$pairbench" images build gateway qdrant trial
for study in "$@"; do
    step "run $study" "$pairbench" run "$study"
    step "verify $study" "$pairbench" verify latest
    step "report $study" "$pairbench" report latest
    if grep -q '^kind = "reconsolidation"' "$study"; then
        # Nobody is there to judge: a list of sentences does, and the assessment says so.
        step "review $study" .venv/bin/python scripts/fixture_review.py latest ".cache/reviews/$(basename "$(readlink -f runs/latest)")"
    fi
done
step_times_table
