"""Corpora as digests and passages."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.core.canonical import sha256_digest
from runner.core.passages import (
    LINES_1,
    Passage,
    Splitter,
    passages_digest,
    passages_jsonl,
    skipped,
    split,
    tree_digest,
)

PYTHON = b'''"""What it is for."""
import re


# Says hello.
@cached
def hello(name):
    return "hello " + name


class Greeter:
    """Class to greet with: not a definition."""

    def greet(self):
        return hello("you")

    async def later(self):
        return None
'''

MARKDOWN = b"""# Limits

Introduction.

## Headers

Sixteen.

```sh
# not a heading
```

## Bodies ##

Twenty.
"""

SMALL = Splitter(target_bytes=60, max_bytes=120)
SMALLER = Splitter(target_bytes=45, max_bytes=90)


def _texts(path: str, data: bytes, splitter: Splitter = LINES_1) -> list[str]:
    return [passage.text for passage in split({path: data}, splitter)]


def _titles(path: str, data: bytes, splitter: Splitter = LINES_1) -> list[str]:
    return [passage.title for passage in split({path: data}, splitter)]


def test_the_tree_digest_is_over_paths_sizes_and_digests_in_utf8_order() -> None:
    """The value was computed apart, with `sha256sum` over the canonical JSON of the list."""
    # ["b",1,sha256("x")] then ["ä",0,sha256("")]: U+00E4 is beyond "b" in UTF-8.
    assert tree_digest({"ä": b"", "b": b"x"}) == (
        "sha256:5c7d5966b2cc08a9755c7c4eede704135b4cd8c82c6d194d8c4e73b69fd9c860"
    )


def test_the_tree_digest_does_not_depend_on_the_order_of_insertion() -> None:
    """A folder may be listed in any order."""
    assert tree_digest({"a": b"1", "b": b"2"}) == tree_digest({"b": b"2", "a": b"1"})


@pytest.mark.parametrize("other", [{"a": b"2"}, {"b": b"1"}, {"a": b"1", "b": b""}, {}])
def test_the_tree_digest_changes_with_content_path_and_number(other: dict[str, bytes]) -> None:
    """Any changed byte, name or file is another tree."""
    assert tree_digest({"a": b"1"}) != tree_digest(other)


def test_a_small_file_is_one_passage_with_its_exact_bytes() -> None:
    """Nothing is cut that fits, and blank lines at the ends are left out."""
    assert split({"notes/a.txt": b"\n\none\ntwo\n\n"}) == (
        Passage(id=1, source="notes/a.txt", start=2, end=10, title="notes/a.txt", text="one\ntwo\n"),
    )


def test_ids_count_from_one_in_the_order_of_path_and_position() -> None:
    """Ids follow UTF-8 order of paths, whatever order they came in."""
    found = split({"b.txt": b"b\n", "B.txt": b"B\n", "a/z.txt": b"z\n"})
    assert [(passage.id, passage.source) for passage in found] == [(1, "B.txt"), (2, "a/z.txt"), (3, "b.txt")]


def test_python_is_cut_before_definitions_with_their_decorators_and_comments() -> None:
    """A comment or decorator right above a definition stays with it."""
    assert _texts("m.py", PYTHON, SMALL) == [
        '"""What it is for."""\nimport re\n',
        '# Says hello.\n@cached\ndef hello(name):\n    return "hello " + name\n',
        'class Greeter:\n    """Class to greet with: not a definition."""\n',
        '    def greet(self):\n        return hello("you")\n',
        "    async def later(self):\n        return None\n",
    ]


def test_python_titles_name_what_a_passage_stands_in() -> None:
    """Prose that begins with "class" names nothing."""
    assert _titles("m.py", PYTHON, SMALL) == [
        "m.py",
        "m.py: hello",
        "m.py: Greeter",
        "m.py: Greeter.greet",
        "m.py: Greeter.later",
    ]


def test_a_passage_from_the_middle_of_a_method_is_titled_with_it() -> None:
    """The definitions that are open at a passage's first line are its title."""
    body = b"".join(b"        step(%d)\n" % number for number in range(12))
    titles = _titles("m.py", b"class A:\n    def run(self):\n" + body + b"\nLAST = 1\n", SMALL)
    assert titles == ["m.py: A", "m.py: A.run", "m.py: A.run", "m.py: A.run"]


def test_code_after_a_class_is_not_titled_with_it() -> None:
    """A passage that begins without indentation stands in no definition."""
    data = b"class A:\n    x = 1\n\n" + b"".join(b"NAME_%d = %d\n" % (number, number) for number in range(9))
    assert _titles("m.py", data, Splitter(target_bytes=30, max_bytes=90)) == ["m.py: A", "m.py", "m.py"]


def test_markdown_is_cut_at_headings_and_not_inside_fences() -> None:
    """Titles are the chain of headings; a hash in fenced code is none."""
    assert [(passage.title, passage.text) for passage in split({"n.md": MARKDOWN}, SMALLER)] == [
        ("n.md: Limits", "# Limits\n\nIntroduction.\n"),
        ("n.md: Limits > Headers", "## Headers\n\nSixteen.\n\n```sh\n# not a heading\n```\n"),
        ("n.md: Limits > Bodies", "## Bodies ##\n\nTwenty.\n"),
    ]


def test_plain_text_is_cut_at_blank_lines_first() -> None:
    """A paragraph that fits isn't torn apart for the sake of size."""
    paragraphs = b"\n".join(letter * 50 + b"\n" for letter in (b"a", b"b", b"c"))
    assert _texts("t.txt", paragraphs, SMALL) == ["a" * 50 + "\n", "b" * 50 + "\n", "c" * 50 + "\n"]


def test_no_passage_is_longer_than_the_maximum_and_a_long_line_is_cut_between_characters() -> None:
    """A line of two-byte characters is cut at an even distance."""
    found = split({"t.txt": ("ä" * 200).encode()}, Splitter(target_bytes=61, max_bytes=121))
    assert [passage.end - passage.start for passage in found] == [120, 120, 120, 40]
    assert "".join(passage.text for passage in found) == "ä" * 200


@pytest.mark.parametrize("data", [b"", b"\n \n\t\n", b"\xff\xfe", b"a\0b\n", b"\xed\xa0\x80"])
def test_a_file_that_is_blank_or_not_text_has_no_passages_and_is_listed(data: bytes) -> None:
    """Skipped files are counted, not forgotten."""
    files = {"x.bin": data, "y.txt": b"text\n"}
    found = split(files)
    assert [passage.source for passage in found] == ["y.txt"]
    assert skipped(files, found) == ("x.bin",)


def test_line_ends_of_other_systems_are_kept_and_do_not_hide_structure() -> None:
    """Carriage returns stay in the text; headings and blank lines are still seen."""
    found = split({"n.md": MARKDOWN.replace(b"\n", b"\r\n")}, SMALLER)
    assert [passage.title for passage in found] == ["n.md: Limits", "n.md: Limits > Headers", "n.md: Limits > Bodies"]
    assert found[0].text == "# Limits\r\n\r\nIntroduction.\r\n"


def test_a_title_is_one_line_of_bounded_length() -> None:
    """Control characters of a heading or path become spaces; what is too long ends in an ellipsis."""
    (passage,) = split({"n.md": b"# a\x01b " + b"c" * 300 + b"\n"})
    assert passage.title == "n.md: a b " + "c" * 149 + "…"


def test_passages_are_written_as_canonical_lines() -> None:
    """Keys are sorted, characters beyond ASCII stand as they are, each line ends."""
    data = passages_jsonl(split({"a.txt": "Grüße\n".encode()}))
    assert data == '{"end":8,"id":1,"source":"a.txt","start":0,"text":"Grüße\\n","title":"a.txt"}\n'.encode()
    assert json.loads(data)["text"] == "Grüße\n"


def test_a_megabyte_on_one_line_is_split_without_losing_a_byte() -> None:
    """Size is no reason to fail."""
    found = split({"big.txt": b"x" * 1_000_000})
    assert len(found) == 625
    assert sum(len(passage.text) for passage in found) == 1_000_000


TEXTS = st.lists(
    st.one_of(
        st.sampled_from(
            ["", " ", "\r", "\t#", "# a", "## b", "```", "def f(x):", "    class A:", "    @b", "\f", "ä" * 90]
        ),
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=80),
    ),
    max_size=60,
).map("\n".join)


@given(
    text=TEXTS,
    name=st.sampled_from(["a.py", "a.md", "a"]),
    sizes=st.tuples(st.integers(4, 90), st.integers(0, 90)),
)
def test_any_text_is_held_line_by_line_in_bounded_passages_that_do_not_overlap(
    text: str, name: str, sizes: tuple[int, int]
) -> None:
    """Whatever a file holds: exact bytes, in order, nothing left out but blank lines, none too long, one-line titles."""
    data = text.encode()
    splitter = Splitter(target_bytes=sizes[0], max_bytes=sum(sizes))
    position = 0
    for passage in split({name: data}, splitter):
        assert data[position : passage.start].strip() == b""
        assert data[passage.start : passage.end].decode() == passage.text
        assert 0 < passage.end - passage.start <= splitter.max_bytes
        assert len(passage.title.splitlines()) == 1
        position = passage.end
    assert data[position:].strip() == b""


def test_a_boundary_that_is_not_declared_is_not_written() -> None:
    """So a corpus without boundaries has the same passages, and the same lock, as before there were any."""
    plain = Passage(1, "a.md", 0, 1, "a.md", "x")
    bounded = Passage(2, "a.md", 1, 2, "a.md", "y", "harbour", "expired", 0, -1)
    assert passages_jsonl([plain, bounded]) == (
        b'{"end":1,"id":1,"source":"a.md","start":0,"text":"x","title":"a.md"}\n'
        b'{"end":2,"expires_s":-1,"id":2,"known_from_s":0,"source":"a.md","start":1,"status":"expired",'
        b'"text":"y","title":"a.md","workspace":"harbour"}\n'
    )


def test_the_digest_of_passages_is_that_of_their_file() -> None:
    """It is made line by line."""
    passages = split({"a.md": MARKDOWN, "b.py": PYTHON}, SMALL)
    assert passages_digest(passages) == sha256_digest(passages_jsonl(passages))
