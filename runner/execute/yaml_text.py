"""How is a document written as YAML that people read? Mappings and lists of texts, numbers and truth values.

PyYAML would do it in twenty times the time, which counts where every attempt of a large run leaves such a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

Node: TypeAlias = "str | int | Alias | Anchor | Mapping[str, Node] | Sequence[Node]"

_WIDTH: Final = 120
_PLAIN: Final = re.compile(r"(?:[A-Za-z/]|\./)[\w/.@-]*(?::[\w/.@-]+)*", re.ASCII)
# YAML 1.1 takes them for truth values and nothings, in any case.
_WORDS: Final = frozenset({"y", "yes", "n", "no", "true", "false", "on", "off", "null"})
# YAML 1.2 section 5.1, and the ends of lines of YAML 1.1.
_UNPRINTABLE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
# Lines that stand as they are, behind `|`; everything else can be quoted.
_LINES: Final = re.compile(r"(?:[!-~][ -~]*\n)(?:[ -~]*[!-~]\n)*", re.ASCII)


@dataclass(frozen=True)
class Anchor:
    """A value that is referred to elsewhere."""

    name: str
    value: Mapping[str, Node]


@dataclass(frozen=True)
class Alias:
    """What stands at the anchor of that name."""

    name: str


def yaml_text(document: Mapping[str, Node]) -> str:
    """The document, its keys in their order."""
    return "".join(f"{line}\n" for line in _mapping(document) or ["{}"])


def _mapping(value: Mapping[str, Node]) -> list[str]:
    lines: list[str] = []
    for name, held in value.items():
        # Without quotes it merges what is referred to, and can be nothing else.
        key = f"{name if isinstance(held, Alias) and name == '<<' else _scalar(name)}:"
        if isinstance(held, Anchor):
            lines += [f"{key} &{held.name}", *_indented(_mapping(held.value))]
        elif (flow := _flow(held)) is not None and len(key) + 1 + len(flow) < _WIDTH:
            lines.append(f"{key} {flow}")
        else:
            lines += _below(key, held)
    return lines


def _below(key: str, held: Node) -> list[str]:
    """What is held, in lines of its own behind `key`."""
    match held:
        case str() if _LINES.fullmatch(held):
            return [f"{key} |", *_indented(held.split("\n")[:-1])]
        case str() | int() | Alias():
            return [f"{key} {_scalar(held)}"]
        case Mapping():
            return [key, *_indented(_mapping(held))]
        case Sequence():
            return [key, *_indented([line for item in held for line in _item(item)])]
    raise TypeError(type(held))


def _item(item: Node) -> list[str]:
    flow = _flow(item)
    if flow is not None:
        return [f"- {flow}"]
    if isinstance(item, Mapping):
        first, *rest = _mapping(item)
        return [f"- {first}", *_indented(rest)]
    return _below("-", item)


def _flow(held: Node) -> str | None:
    """What is held in one line, if it is simple enough for that."""
    match held:
        case str() if "\n" in held and _LINES.fullmatch(held):
            return None
        case str() | int() | Alias():
            return _scalar(held)
        case Mapping() if all(isinstance(one, str | int) for one in held.values()):
            inner = [f"{_scalar(name)}: {_flow(one)}" for name, one in held.items()]
            return f"{{{', '.join(inner)}}}" if not any(item.endswith(" None") for item in inner) else None
        case Sequence() if all(isinstance(one, str | int) for one in held):
            found = [_flow(one) for one in held]
            return f"[{', '.join(one for one in found if one is not None)}]" if None not in found else None
    return None


def _scalar(value: str | int | Alias) -> str:
    match value:
        case Alias():
            return f"*{value.name}"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    # The quotes of JSON are those of YAML, which takes fewer characters as they are.
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" if line else "" for line in lines]
