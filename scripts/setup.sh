#!/usr/bin/env bash
# Fill .venv with exactly what requirements/ pins by hash, and the project itself. Behind `make setup`.
# Does nothing when .venv already holds that; an interrupted run is started over by the next one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=${PYTHON:-python3}
not_ready=3

fail() { printf 'setup: %s\n' "$1" >&2; shift; if [ $# -gt 0 ]; then printf '  %s\n' "$@" >&2; fi; exit "$not_ready"; }

digest() { cat -- "$@" | sha256sum | cut -d' ' -f1; }

version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) ||
    fail "$python is missing: install Python 3.11 or newer, or name one with PYTHON=..."
case $version in
    3.1[1-9] | 3.[2-9][0-9]) ;;
    *) fail "$python is Python $version, and 3.11 or newer is needed. Name another one:" "make PYTHON=python3.12 setup" ;;
esac

packages="$version $(digest requirements/dev.txt requirements/build.txt)"
project=$(digest pyproject.toml)
is() { [ "$(cat ".venv/$1" 2>/dev/null)" = "$2" ]; }

complete() { is packages.stamp "$packages" && is project.stamp "$project"; }

if complete; then exit 0; fi
mkdir -p .cache
exec {lock}>.cache/setup.lock
flock "$lock"
# While this one waited, another may have done it.
if complete; then exit 0; fi

make_venv() {
    if "$python" -c 'import ensurepip' 2>/dev/null; then
        "$python" -m venv --clear .venv
        return
    fi
    # Debian keeps ensurepip in a package of its own.
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        fail "$python can't make virtual environments. Type:" "sudo apt-get install -y python3-venv" "make setup"
    fi
    local -a apt=(apt-get -qq -o DPkg::Lock::Timeout=300)
    local package
    package=$(dpkg-query --search "$(readlink -f "$(command -v "$python")")" 2>/dev/null | sed -n 's/^\(python3\.[0-9]*\)-minimal:.*/\1-venv/p')
    export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
    "${apt[@]}" install -y --no-install-recommends "${package:-python3-venv}" </dev/null ||
        { "${apt[@]}" update </dev/null && "${apt[@]}" install -y --no-install-recommends "${package:-python3-venv}" </dev/null; } ||
        fail "python3-venv could not be installed"
    "$python" -m venv --clear .venv
}

if ! is packages.stamp "$packages"; then
    printf 'setup: installing %d pinned packages into .venv\n' "$(cat requirements/dev.txt requirements/build.txt | grep -c ==)" >&2
    make_venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all: \
        -r requirements/dev.txt -r requirements/build.txt
    printf '%s\n' "$packages" >.venv/packages.stamp
fi
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation --editable .
printf '%s\n' "$project" >.venv/project.stamp
