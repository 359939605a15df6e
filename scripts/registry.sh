#!/usr/bin/env bash
# Debian's docker-registry is there: the machine's own, or unpacked below .cache/registry. It is neither installed nor started, and
# no privilege is needed; the tests start it on a loopback port of their own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=.cache/registry

if command -v docker-registry >/dev/null || [ -x "$folder/usr/bin/docker-registry" ]; then exit 0; fi
if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
    printf 'registry: no docker-registry, and no Debian to take it from\n' >&2
    exit 3
fi
mkdir -p .cache
temporary=$(mktemp -d .cache/registry.XXXXXX)
trap 'rm -rf "$temporary"' EXIT
# As image building does, with lists of our own: the machine's may be empty, and aren't ours to renew.
.venv/bin/python - "$temporary" <<'PYTHON'
import sys
from pathlib import Path

from runner.adapters.apt import AptPackages
from runner.core.errors import EnvironmentNotReady
from runner.images.inputs import host_arch

folder, arch, suite = Path(sys.argv[1]).absolute(), host_arch(), "bookworm"
packages = AptPackages(Path(".cache/images/apt").absolute())
try:
    needed = packages.closure(["docker-registry"], suite=suite, arch=arch)
    wanted = [package for package in needed if package.name == "docker-registry"]
    packages.download(wanted, folder, suite=suite, arch=arch)
except EnvironmentNotReady as error:
    sys.exit(f"registry: {error}")
PYTHON
dpkg-deb --extract "$temporary"/*.deb "$temporary/unpacked"
# Whoever was faster has the same.
mv -T "$temporary/unpacked" "$folder" 2>/dev/null || [ -x "$folder/usr/bin/docker-registry" ]
