"""What a client could tell two arms apart by: the exact difference between two launches, for the lock."""

from __future__ import annotations

import json
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from runner.core.canonical import parse_json, sha256_digest
from runner.core.errors import EvidenceError
from runner.core.launch import LAUNCH_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.core.canonical import Json
    from runner.core.launch import PodLaunch


def launch_difference(control: PodLaunch, treatment: PodLaunch) -> tuple[str, ...]:
    """What the treatment's launch has that the control's hasn't (`+`) and the other way round (`-`), a line each.

    Both launches have to be made with the same session and tokens, or these stand among the lines. No line: the client
    can't tell the arms apart.
    """
    before, after = control.spec.json_value(), treatment.spec.json_value()
    lines: list[str] = []
    for key in sorted(before):
        if key == "argv":
            lines += _argv_difference(control.spec.argv, treatment.spec.argv)
        else:
            lines += _leaf_difference(LAUNCH_NAME, key, before[key], after[key])
    files = {file.name: file.data for file in control.files}
    others = {file.name: file.data for file in treatment.files}
    for name in sorted(files.keys() | others.keys()):
        lines += _file_difference(name, files.get(name), others.get(name))
    return tuple(lines)


def _argv_difference(before: tuple[str, ...], after: tuple[str, ...]) -> Iterator[str]:
    for kind, start, end, other_start, other_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        if end > start:
            yield f"- argv: {_quoted(before[start:end])}"
        if other_end > other_start:
            yield f"+ argv: {_quoted(after[other_start:other_end])}"


def _quoted(words: tuple[str, ...]) -> str:
    return " ".join(json.dumps(word, ensure_ascii=False) for word in words)


def _leaf_difference(document: str, key: str, before: Json, after: Json) -> Iterator[str]:
    old, new = dict(_leaves(key, before)), dict(_leaves(key, after))
    for path in sorted(old.keys() | new.keys()):
        if old.get(path) == new.get(path):
            continue
        if path in old:
            yield f"- {document}: {path} = {old[path]}"
        if path in new:
            yield f"+ {document}: {path} = {new[path]}"


def _leaves(path: str, value: Json) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(f"{path}.{key}" if path else str(key), item)
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from _leaves(f"{path}[{index}]", item)
    else:
        yield path, json.dumps(value, ensure_ascii=False)


def _file_difference(name: str, before: bytes | None, after: bytes | None) -> Iterator[str]:
    if before == after:
        return
    if before is not None and after is not None and name.endswith(".json"):
        try:
            yield from _leaf_difference(name, "", parse_json(before, name), parse_json(after, name))
        except EvidenceError:
            pass
        else:
            return
    if before is not None:
        yield f"- {name}: {len(before)} bytes, {sha256_digest(before)}"
    if after is not None:
        yield f"+ {name}: {len(after)} bytes, {sha256_digest(after)}"
