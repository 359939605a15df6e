"""YAML that people read: whatever is written reads back as it was, by a reader of YAML 1.1, and looks as it should."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from runner.execute.yaml_text import Alias, Anchor, yaml_text

TEXTS = st.text(st.characters(blacklist_categories=["Cs", "Cn", "Co"]), max_size=30) | st.sampled_from(
    [
        "no",
        "Off",
        "1:30",
        "0:0",
        "010",
        "1e3",
        ".5",
        "~",
        "null",
        "- a",
        "a: b",
        "a #b",
        "*a",
        "&a",
        "%",
        "<<",
        "<<x",
        "a\nb\n",
        "a\n\nb\n",
    ]
)
NODES = st.recursive(
    TEXTS | st.integers(-(2**53), 2**53) | st.booleans(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(TEXTS, NODES, max_size=5))
def test_what_is_written_reads_back(document: dict[str, Any]) -> None:
    """Texts that look like numbers, truth values, times, lists or comments too."""
    assert yaml.safe_load(yaml_text(document)) == document


@pytest.mark.parametrize(
    ("document", "written"),
    [
        ({"image": "pairbench/gateway:0a1b"}, "image: pairbench/gateway:0a1b\n"),
        ({"user": "10004:10004"}, 'user: "10004:10004"\n'),
        ({"mode": "off", "none": "none"}, 'mode: "off"\nnone: none\n'),
        ({"cpus": 2, "read_only": True}, "cpus: 2\nread_only: true\n"),
        ({"cap_add": ["KILL", "SETUID"], "empty": []}, "cap_add: [KILL, SETUID]\nempty: []\n"),
        ({"long": ["x" * 60, "y" * 60]}, f"long:\n  - {'x' * 60}\n  - {'y' * 60}\n"),
        ({"run": ["python3", "-c", "if a:\n    b\n"]}, 'run:\n  - python3\n  - "-c"\n  - |\n    if a:\n        b\n'),
        ({"after": {"gateway": {"condition": "started"}}}, "after:\n  gateway: {condition: started}\n"),
        ({"mounts": [{"type": "bind", "source": "./a"}]}, "mounts:\n  - {type: bind, source: ./a}\n"),
        ({"text": "é\n"}, 'text: "é\\n"\n'),
    ],
)
def test_how_it_looks(document: dict[str, Any], written: str) -> None:
    """Short things in one line, programs line by line, quotes where YAML needs them."""
    assert yaml_text(document) == written


def test_what_is_said_once_is_referred_to() -> None:
    """An anchor, and a mapping into which it is merged."""
    text = yaml_text({"x-wall": Anchor("wall", {"read_only": True}), "trial": {"<<": Alias("wall"), "user": "a"}})
    assert text == "x-wall: &wall\n  read_only: true\ntrial:\n  <<: *wall\n  user: a\n"
    assert yaml.safe_load(text)["trial"] == {"read_only": True, "user": "a"}
