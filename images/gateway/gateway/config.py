"""What does the host want from this gateway? Reads `gateway.json`; knows nothing of sockets or models."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateway.canonical_request import Mask
from gateway.origin import AUTHS, parse_origin
from gateway.script.reading import read_script
from gateway.spending import SpendingError, read_spending

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.origin import Auth, Origin
    from gateway.script.rules import Script
    from gateway.spending import Spending

FORMAT = "pairbench/gateway-config"
VERSION = 1
MODES = ("scripted", "live", "record", "replay", "none")
# These go to a provider.
OUTWARD = ("live", "record")
POLICIES = (("plain-agent", 1), ("script", 1))
OWNERS = ("client", "memory")
KEYS = (
    "format",
    "version",
    "mode",
    "socket",
    "evidence_dir",
    "tokens",
    "seed",
    "record_limit_bytes",
    "request_limit",
)
# Only the policy of that name has one.
SCRIPT = "script"
# Which keys some modes need and others may not have; null is as good as absent.
OF_MODES = {"policy": ("scripted",), "upstream": OUTWARD, "cassette": ("replay",)}
BODIES = ("kept", "left_out")
OPTIONAL = (SCRIPT, *OF_MODES, "recording", "masks", "spending", "timed", "bodies")
# A path of a Unix socket has 107 bytes and a terminating zero (unix(7)).
SOCKET_PATH_LIMIT_BYTES = 107


class ConfigError(Exception):
    """Carries everything that is wrong with a configuration, one problem an entry."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True, repr=False)
class Token:
    """A secret of one trial; its text shows in no log."""

    value: bytes

    def __repr__(self) -> str:
        return "Token(...)"


@dataclass(frozen=True)
class UpstreamConfig:
    """Where the provider is, and how it knows the gateway."""

    origin: Origin
    auth: Auth
    ca_file: str | None
    """Certificates of authorities that are trusted instead of the system's."""
    key_file: str


@dataclass(frozen=True)
class Config:
    """One attempt's gateway, as the host declared it."""

    mode: str
    socket: str
    evidence_dir: str
    tokens: dict[str, Token]
    policy: str
    """"" in modes without one, and its version 0."""
    policy_version: int
    seed: str
    record_limit_bytes: int
    request_limit: int
    script: Script | None
    upstream: UpstreamConfig | None = None
    cassette: str | None = None
    timed: bool = False
    """A replay keeps the recorded pauses."""
    recording: bool = False
    bodies: bool = True
    """They are kept."""
    masks: tuple[Mask, ...] = ()
    spending: Spending | None = None


def parse_config(text: str) -> Config:
    """The configuration in `text`.

    Raises:
        ConfigError: with all problems at once.
    """
    try:
        document = json.loads(text)
        # Text that isn't Unicode can't be sent, nor written down.
        json.dumps(document, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise ConfigError([f"not JSON: {error}"]) from error
    if not isinstance(document, dict):
        raise ConfigError(["not a JSON object"])
    document = {key: value for key, value in document.items() if value is not None or key in KEYS}
    problems = _problems(document)
    script = _script(document, problems)
    upstream = _upstream(document.get("upstream"), problems)
    masks = _masks(document.get("masks"), problems)
    spending = _spending(document.get("spending"), problems)
    if problems:
        raise ConfigError(problems)
    policy = document.get("policy") or {"name": "", "version": 0}
    return Config(
        mode=document["mode"],
        socket=document["socket"],
        evidence_dir=document["evidence_dir"],
        tokens={owner: Token(document["tokens"][owner].encode()) for owner in OWNERS},
        policy=policy["name"],
        policy_version=policy["version"],
        seed=document["seed"],
        record_limit_bytes=document["record_limit_bytes"],
        request_limit=document["request_limit"],
        script=script,
        upstream=upstream,
        cassette=document.get("cassette"),
        timed=document.get("timed", False),
        recording=document["mode"] == "record" or document.get("recording", False),
        bodies=document.get("bodies", "kept") == "kept",
        masks=masks,
        spending=spending,
    )


def _problems(document: dict[str, Any]) -> list[str]:
    found = [f"missing key {key}" for key in KEYS if key not in document]
    found += [f"unknown key {key}" for key in document if key not in {*KEYS, *OPTIONAL}]
    mode = document.get("mode")
    for key, modes in OF_MODES.items():
        if mode in MODES and (key in document) != (mode in modes):
            found.append(f"missing key {key}" if mode in modes else f"{key} has no place in mode {mode}")
    if document.get("format") != FORMAT or document.get("version") != VERSION:
        found.append(f"format and version must be {FORMAT} {VERSION}")
    checks: dict[str, Callable[[object], list[str]]] = {
        "mode": _mode_problems,
        "socket": _socket_problems,
        "evidence_dir": _path_problems,
        "tokens": _token_problems,
        "policy": _policy_problems,
        "seed": _text_problems,
        "record_limit_bytes": _count_problems,
        "request_limit": _count_problems,
        "cassette": _path_problems,
        "recording": _flag_problems,
        "timed": _flag_problems,
        "bodies": _bodies_problems,
    }
    for key, check in checks.items():
        if key in document:
            found += [f"{key} {problem}" for problem in check(document[key])]
    if document.get("bodies") == "left_out" and (mode == "record" or document.get("recording") is True):
        found.append("bodies can't be left_out of a recording, which plays them again")
    return found


def _script(document: dict[str, Any], problems: list[str]) -> Script | None:
    """The script of a policy that plays one; what is wrong with it is in `problems`."""
    policy, script = document.get("policy"), document.get(SCRIPT)
    wanted = isinstance(policy, dict) and policy.get("name") == SCRIPT
    if wanted != (script is not None):
        problems.append("script must be there for the policy of that name, and for no other")
        return None
    return read_script(script, problems) if wanted else None


def _upstream(upstream: object, problems: list[str]) -> UpstreamConfig | None:
    """Where the provider is; what is wrong with it is in `problems`."""
    if upstream is None:
        return None
    if not isinstance(upstream, dict) or not set(upstream) <= {"base_url", "auth", "ca_file", "key_file"}:
        problems.append("upstream must be an object of base_url, auth, ca_file and key_file")
        return None
    ca_file, key_file = upstream.get("ca_file"), upstream.get("key_file")
    found = [f"upstream.key_file {problem}" for problem in _path_problems(key_file)]
    if ca_file is not None:
        found += [f"upstream.ca_file {problem}" for problem in _path_problems(ca_file)]
    if upstream.get("auth") not in AUTHS:
        found.append(f"upstream.auth must be one of: {', '.join(AUTHS)}")
    try:
        origin = parse_origin(str(upstream.get("base_url")))
    except ValueError as error:
        found.append(f"upstream.base_url {error}")
    problems += found
    return None if found else UpstreamConfig(origin, upstream["auth"], ca_file, key_file)


def _masks(masks: object, problems: list[str]) -> tuple[Mask, ...]:
    """What of a request isn't compared; what is wrong with it is in `problems`."""
    if masks is None:
        return ()
    found = []
    for number, mask in enumerate(masks if isinstance(masks, list) else [None]):
        try:
            found.append(Mask.of(mask))
        except (TypeError, ValueError, re.error) as error:
            problems.append(f"masks.{number} {error}")
    return tuple(found)


def _spending(spending: object, problems: list[str]) -> Spending | None:
    """The caps; what is wrong with them is in `problems`."""
    if spending is None:
        return None
    try:
        return read_spending(spending)
    except SpendingError as error:
        problems += error.problems
        return None


def _flag_problems(flag: object) -> list[str]:
    return [] if isinstance(flag, bool) else ["must be true or false"]


def _bodies_problems(bodies: object) -> list[str]:
    return [] if bodies in BODIES else [f"must be one of: {', '.join(BODIES)}"]


def _mode_problems(mode: object) -> list[str]:
    return [] if mode in MODES else [f"must be one of: {', '.join(MODES)}"]


def _path_problems(path: object) -> list[str]:
    is_path = isinstance(path, str) and path.startswith("/") and "\0" not in path
    return [] if is_path else ["must be an absolute path"]


def _socket_problems(path: object) -> list[str]:
    if isinstance(path, str) and len(path.encode(errors="replace")) > SOCKET_PATH_LIMIT_BYTES:
        return [f"must be at most {SOCKET_PATH_LIMIT_BYTES} bytes long"]
    return _path_problems(path)


def _text_problems(text: object) -> list[str]:
    return [] if isinstance(text, str) else ["must be text"]


def _count_problems(count: object) -> list[str]:
    is_count = isinstance(count, int) and not isinstance(count, bool) and count > 0
    return [] if is_count else ["must be a positive integer"]


def _token_problems(tokens: object) -> list[str]:
    if not isinstance(tokens, dict) or set(tokens) != set(OWNERS):
        return [f"must have exactly the keys: {', '.join(OWNERS)}"]
    values = list(tokens.values())
    if not all(isinstance(token, str) and token and token.isascii() and token.isprintable() for token in values):
        return ["must be printable ASCII text and not empty"]
    return [] if len(set(values)) == len(values) else ["must differ from one another"]


def _policy_problems(policy: object) -> list[str]:
    if not isinstance(policy, dict) or set(policy) != {"name", "version"}:
        return ["must have exactly the keys: name, version"]
    known = [f"{name} {version}" for name, version in POLICIES]
    return [] if f"{policy['name']} {policy['version']}" in known else [f"must be one of: {', '.join(known)}"]
