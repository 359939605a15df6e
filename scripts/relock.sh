#!/usr/bin/env bash
# Resolve requirements/*.txt afresh from pyproject.toml and requirements/*.in, for every platform, and images/locks from the
# declarations of the images: one commit. Behind `make relock`. The resolver lives in a virtual environment of its own; nothing else uses it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=.cache/relock

"${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r requirements/relock.txt

compile() { # compile OUTPUT ARGUMENT...
    local output=$1
    shift
    "$venv/bin/uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
        "$@" --output-file "$output" ${UPGRADE:+--upgrade}
}

compile requirements/runtime.txt pyproject.toml
compile requirements/dev.txt pyproject.toml --group dev --constraint requirements/runtime.txt
compile requirements/build.txt requirements/build.in --constraint requirements/dev.txt
compile requirements/relock.txt requirements/relock.in
scripts/setup.sh
.venv/bin/pairbench images relock
git diff --stat requirements images/locks
