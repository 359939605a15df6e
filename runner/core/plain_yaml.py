"""YAML that means what it looks like: texts, whole numbers, truth values, lists and tables, and nothing clever.

YAML 1.1 takes `no` for a truth value, `1:30` for ninety and `010` for eight. Such values are refused, so that whoever
wrote them says what is meant; so are tags, anchors and keys that stand twice.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import yaml

from runner.core.errors import Problem, StudyError

if TYPE_CHECKING:
    from runner.core.canonical import Json

_TAG: Final = "tag:yaml.org,2002:"
_WHOLE: Final = re.compile(r"0|-?[1-9][0-9]{0,17}")
_TRUTH: Final = {"true": True, "false": False}
_SIZE_LIMIT_BYTES: Final = 1 << 20


def parse_yaml(data: bytes, document: str) -> Json:
    """The value in `data`.

    Raises:
        StudyError: it isn't one UTF-8 YAML document of at most 1 MiB, or holds values that could be misread: all of
            them are named.
    """
    if len(data) > _SIZE_LIMIT_BYTES:
        raise StudyError(f"longer than {_SIZE_LIMIT_BYTES} bytes", document=document)
    problems: list[Problem] = []
    try:
        node = yaml.compose(data.decode("utf-8"), Loader=yaml.SafeLoader)
        value = _Reading(document, problems).value(node, "") if node is not None else None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise StudyError(f"not YAML: {' '.join(str(error).split())}", document=document) from error
    if problems:
        raise StudyError.of(problems)
    return value


class _Reading:
    def __init__(self, document: str, problems: list[Problem]) -> None:
        self._document = document
        self._problems = problems
        self._seen: set[int] = set()

    def value(self, node: yaml.Node, key: str) -> Json:
        if id(node) in self._seen:
            self._complain(node, key, "an alias", "write it out")
            return None
        self._seen.add(id(node))
        match node:
            case yaml.MappingNode(tag="tag:yaml.org,2002:map"):
                return self._table(node, key)
            case yaml.SequenceNode(tag="tag:yaml.org,2002:seq"):
                return [self.value(item, f"{key}[{number}]") for number, item in enumerate(node.value)]
            case yaml.ScalarNode():
                return self._scalar(node, key)
        self._complain(node, key, f"a tag {node.tag}", "leave it out")
        return None

    def _table(self, node: yaml.MappingNode, place: str) -> Json:
        found: dict[str, Json] = {}
        for name_node, value_node in node.value:
            name = name_node.value if isinstance(name_node, yaml.ScalarNode) else ""
            key = f"{place}.{name}".strip(".")
            if name_node.tag != f"{_TAG}str":
                self._complain(name_node, key, "a key that is no text", "put it in quotes")
            elif name in found:
                self._complain(name_node, key, "a key that stands twice", "leave one out")
            found[name] = self.value(value_node, key)
        return found

    def _scalar(self, node: yaml.ScalarNode, key: str) -> Json:
        text: str = node.value
        match node.tag.removeprefix(_TAG):
            case "str":
                return text
            case "null" if text:
                return None
            case "null":
                self._complain(node, key, "a key without a value", "leave it out, or write null")
            case "bool" if text in _TRUTH:
                return _TRUTH[text]
            case "int" if _WHOLE.fullmatch(text):
                return int(text)
            case "float":
                self._complain(node, key, f"{text} is no whole number", "put it in quotes, or use a smaller unit")
            case "bool":
                self._complain(node, key, f"{text} may be read in two ways", "write true or false, or put it in quotes")
            case "int" | "timestamp" | "merge" | "value":
                self._complain(
                    node, key, f"{text} may be read in two ways", "put it in quotes, or write a plain number"
                )
            case other:
                self._complain(node, key, f"a tag {other}", "leave it out")
        return None

    def _complain(self, node: yaml.Node, key: str, message: str, hint: str) -> None:
        line = node.start_mark.line + 1
        self._problems.append(Problem(f"line {line}: {message}", self._document, key, hint))
