"""The repositories port through the `git` program, with nothing of the user's, the system's or a repository's settings.

Objects are fetched into a bare store without a working tree and read by name, so that there is no checkout at which a
hook, a filter, an attribute or a link could have an effect. `git-config(1)` and `git(1)` describe the names used here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from runner.core.errors import EnvironmentNotReady
from runner.ports.repositories import GitEntry

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Literal

_TIMEOUT_S: Final = 900
_PASSED: Final = (
    "PATH",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
)
_FIXED: Final[Mapping[str, str]] = {
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    # Empty, and not absent: otherwise SSH_ASKPASS or a setting would be asked.
    "GIT_ASKPASS": "",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
    # Also of redirections and of whatever a URL could be rewritten to; `ext` and others would run commands.
    "GIT_ALLOW_PROTOCOL": "https:ssh:file",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}
_SETTINGS: Final[Mapping[str, str]] = {
    "core.hooksPath": os.devnull,
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "core.fsmonitor": "false",
    "core.symlinks": "false",
    "credential.helper": "",
    "fetch.recurseSubmodules": "false",
    "submodule.recurse": "false",
    "protocol.version": "2",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
_KINDS: Final[Mapping[str, Literal["file", "executable", "link", "submodule"]]] = {
    "100644": "file",
    # Written by very old versions.
    "100664": "file",
    "100755": "executable",
    "120000": "link",
    "160000": "submodule",
}


@dataclass(frozen=True)
class GitRepositories:
    """Git as `program`."""

    program: str = "git"
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def fetch(self, url: str, commit: str, store: Path) -> None:
        """`store` holds the commit with everything below it, and nothing else; what was there is gone."""
        try:
            store.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".fetching-", dir=store.parent) as temporary:
                fresh = Path(temporary) / "store"
                self._git(fresh, ["init", "--quiet", "--bare", "--template=", "--object-format=sha1", str(fresh)])
                options = ["--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"]
                self._git(fresh, ["fetch", *options, "--no-auto-maintenance", "--", url, commit], key=url)
                found = self._git(fresh, ["rev-parse", "--verify", "--end-of-options", f"{commit}^{{commit}}"])
                if found.strip().decode("ascii", "replace") != commit:
                    raise EnvironmentNotReady("it is the name of a tag, not of a commit", document=url, key=commit)
                if store.exists():
                    shutil.rmtree(store)
                fresh.rename(store)
        except OSError as error:
            raise EnvironmentNotReady(error.strerror or str(error), document=str(store)) from error

    def holds(self, commit: str, store: Path) -> bool:
        """Whether `store` is there, and the commit in it."""
        if not (store / "HEAD").is_file():
            return False
        try:
            self._git(store, ["cat-file", "-e", f"{commit}^{{tree}}"])
        except EnvironmentNotReady:
            return False
        return True

    def entries(self, commit: str, store: Path) -> Mapping[str, GitEntry]:
        """Every path of the commit that isn't a folder; bytes that aren't UTF-8 stand as lone surrogates."""
        listed = self._git(store, ["ls-tree", "-r", "-l", "-z", "--full-tree", commit])
        found: dict[str, GitEntry] = {}
        for line in listed.split(b"\0")[:-1]:
            head, _, path = line.partition(b"\t")
            mode, _, name, size = head.decode("ascii").split()
            if mode not in _KINDS:
                raise EnvironmentNotReady(f"it has an entry of mode {mode}", document=str(store), key=commit)
            shown = path.decode("utf-8", "surrogateescape")
            found[shown] = GitEntry(_KINDS[mode], name, 0 if size == "-" else int(size))
        return found

    def blobs(self, names: Collection[str], store: Path) -> Mapping[str, bytes]:
        """The bytes of the named objects, as they are: no attribute or filter has a say."""
        wanted = sorted(set(names))
        said = self._git(store, ["cat-file", "--batch"], "".join(f"{name}\n" for name in wanted).encode("ascii"))
        found: dict[str, bytes] = {}
        place = 0
        for name in wanted:
            end = said.find(b"\n", place)
            head = said[place:end].split()
            if end < 0 or len(head) != 3 or head[:2] != [name.encode("ascii"), b"blob"]:
                raise EnvironmentNotReady(f"the object {name} is missing or no blob", document=str(store))
            size = int(head[2])
            found[name] = said[end + 1 : end + 1 + size]
            place = end + 2 + size
        return found

    def submodules(self, commit: str, store: Path) -> Mapping[str, str]:
        """Path -> URL, as the commit's `.gitmodules` declares them."""
        command = ["config", "--blob", f"{commit}:.gitmodules", "--no-includes", "-z", "--list"]
        paths: dict[str, str] = {}
        urls: dict[str, str] = {}
        for entry in self._git(store, command).decode("utf-8", "replace").split("\0")[:-1]:
            key, _, value = entry.partition("\n")
            section, _, rest = key.partition(".")
            name, _, variable = rest.rpartition(".")
            if section == "submodule" and variable in ("path", "url"):
                (paths if variable == "path" else urls)[name] = value
        return {path: urls[name] for name, path in paths.items() if name in urls}

    def _git(self, store: Path, arguments: list[str], data: bytes = b"", key: str = "") -> bytes:
        with tempfile.TemporaryDirectory(prefix="pairbench-git-") as home:
            # Git looks at whose a folder is; the cache is ours whoever owns the disk that it lies on.
            settings = {**_SETTINGS, "safe.directory": str(store)}
            options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
            command = [self.program, *options, f"--git-dir={store}", *arguments]
            try:
                done = subprocess.run(
                    command,
                    input=data,
                    capture_output=True,
                    check=True,
                    timeout=_TIMEOUT_S,
                    cwd=home,
                    env=self._environment(home),
                )
            except OSError as error:
                raise EnvironmentNotReady(f"git can't be run: {error}", hint="install git") from error
            except subprocess.TimeoutExpired as error:
                raise EnvironmentNotReady(f"git {arguments[0]} didn't end within {_TIMEOUT_S} s", key=key) from error
            except subprocess.CalledProcessError as error:
                said = error.stderr.decode("utf-8", "replace").strip().splitlines()
                told = [line for line in said if line.startswith(("fatal: ", "error: "))] or said
                words = " ".join(told[:3]) or f"exit {error.returncode}"
                raise EnvironmentNotReady(f"git {arguments[0]} failed: {words}", document="git", key=key) from error
        return done.stdout

    def _environment(self, home: str) -> dict[str, str]:
        passed = {name: self.environment[name] for name in _PASSED if name in self.environment}
        return {**passed, **_FIXED, "HOME": home, "XDG_CONFIG_HOME": home}
