"""Which code of ours runs: its files, and what its installation says of itself and of what it needs."""

from __future__ import annotations

import importlib.metadata
import platform
import re
from collections import deque
from email.parser import HeaderParser
from pathlib import Path
from typing import TYPE_CHECKING, Final

import runner
from runner.core.harness import NAME, REQUIREMENTS, Installation, normalized, pin_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from email.message import Message

    from runner.core.lock import HarnessPin

_REQUIREMENT: Final = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[([^\]]*)\])?")
_EXTRA: Final = re.compile(r"extra\s*==\s*[\"']([^\"']+)[\"']")
_PINNED: Final = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;\\]+)")
_HASH: Final = re.compile(r"--hash=(sha256:[0-9a-f]{64})")
_SCRIPTS: Final = {NAME: f"{runner.__name__}.cli:main"}


def package_sources() -> dict[str, bytes]:
    """Every file of the installed `runner` package, by its path from the folder that holds the package."""
    root = _root()
    return {path.relative_to(root.parent).as_posix(): path.read_bytes() for path in _files(root)}


def this_code(sources: Mapping[str, bytes] | None = None) -> HarnessPin:
    """The code of `sources`, or of the installed `runner` package, read now."""
    return pin_of(package_sources() if sources is None else sources, runner.__version__, platform.python_version())


def this_installation() -> Installation:
    """What the installed distribution says of itself; of one that isn't installed, only what the code knows."""
    headers = _headers(NAME)
    return Installation(
        version=runner.__version__,
        python=platform.python_version(),
        requires_python=_field(headers, "Requires-Python"),
        licence=_field(headers, "License-Expression"),
        requires=tuple(headers.get_all("Requires-Dist", [])) if headers else (),
        scripts=_SCRIPTS,
        requirements=_requirements(_needed(NAME), _hashes()),
    )


def installed_versions() -> dict[str, str]:
    """Every distribution that this interpreter finds -> its version; names as indexes compare them."""
    found: dict[str, str] = {}
    for distribution in importlib.metadata.distributions():
        # The first on the path is the one that is imported.
        found.setdefault(normalized(str(distribution.metadata["Name"])), distribution.version)
    return found


def _needed(name: str) -> dict[str, str]:
    """Every installed distribution that the one called `name` needs, itself left out -> its version.

    What isn't installed is of another platform, or of an extra that nobody asked for.
    """
    versions: dict[str, str] = {}
    waiting: deque[tuple[str, frozenset[str]]] = deque([(normalized(name), frozenset())])
    seen = set(waiting)
    while waiting:
        wanted, extras = waiting.popleft()
        headers = _headers(wanted)
        if headers is None:
            continue
        versions[wanted] = str(headers["Version"])
        for line in headers.get_all("Requires-Dist", []):
            requirement, _, marker = line.partition(";")
            asked, found = _EXTRA.search(marker), _REQUIREMENT.match(requirement)
            if found and (asked is None or asked[1] in extras):
                more = frozenset(part.strip() for part in (found[2] or "").split(",") if part.strip())
                item = normalized(found[1]), more
                waiting.extend([item] if item not in seen else [])
                seen.add(item)
    versions.pop(normalized(name), None)
    return versions


def _headers(name: str) -> Message | None:
    """The head of the distribution's metadata; its long description isn't read."""
    try:
        text = importlib.metadata.distribution(name).read_text("METADATA") or ""
    except importlib.metadata.PackageNotFoundError:
        return None
    return HeaderParser().parsestr(text.partition("\n\n")[0])


def _field(headers: Message | None, name: str) -> str:
    return "" if headers is None else str(headers.get(name, ""))


def _requirements(versions: Mapping[str, str], hashes: Mapping[tuple[str, str], list[str]]) -> bytes:
    lines = []
    for name, version in sorted(versions.items()):
        known = "".join(f" \\\n    --hash={digest}" for digest in hashes.get((name, version), []))
        lines.append(f"{name}=={version}{known}\n")
    return "".join(lines).encode()


def _hashes() -> dict[tuple[str, str], list[str]]:
    """(Distribution, version) -> digests of its files, from what this code was installed by, where that is at hand."""
    found: dict[tuple[str, str], list[str]] = {}
    known: list[str] = []
    for line in _pins().splitlines():
        if pinned := _PINNED.match(line):
            known = found.setdefault((normalized(pinned[1]), pinned[2]), [])
        known += _HASH.findall(line)
    return found


def _pins() -> str:
    """The requirements of the checkout; else those that lie with the installed distribution; else nothing."""
    checkout = _root().parent
    if (checkout / "pyproject.toml").is_file():
        try:
            return (checkout / "requirements" / "runtime.txt").read_text("utf-8")
        except OSError:
            return ""
    try:
        return importlib.metadata.distribution(NAME).read_text(REQUIREMENTS) or ""
    except importlib.metadata.PackageNotFoundError:
        return ""


def _root() -> Path:
    return Path(runner.__file__).parent


def _files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
