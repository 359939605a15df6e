"""Documents of test collections, as files of a workspace."""

from __future__ import annotations

import pytest

from runner.core.collections import Collection

SGML = b"""<DOC>
<DOCNO> FT911-1 </DOCNO>
<HEADLINE>
FT  14 MAY /
A <i>headline</i>
</HEADLINE>
<TEXT>
One &amp; two.


Three &lt;four&gt;.
</TEXT>
<TEXT>Five.</TEXT>
</DOC>

<doc id="x">
<docno>a/b c</docno>
<DOCHDR>http://example.org</DOCHDR>
<!-- no text -->
<P>Only <B>this</B>.</P>
</doc>
"""


def collected(**files: bytes) -> Collection:
    found = Collection("corpus.toml")
    for name, data in files.items():
        found.add(name.replace("__", "."), data)
    return found


def test_trec_documents_are_read() -> None:
    """Titles on one line, texts without tags, references to characters resolved; ids percent-encoded as names."""
    found = collected(docs__trec=SGML)
    assert found.problems == []
    assert found.files == {
        "FT911-1.txt": b"FT 14 MAY / A headline\n\nOne & two.\n\nThree <four>.\n\nFive.",
        "a%2Fb%20c.txt": b"Only this.",
    }


def test_lines_of_json_are_read() -> None:
    """BEIR's keys, and those of others; a number may be an id; more keys are no matter."""
    data = (
        b'{"_id": "d1", "title": " A title ", "text": "Text\\n", "metadata": {}}\n\n'
        b'{"id": 7, "contents": "Only contents"}\n{"docid": "\xc3\xa4", "title": null, "body": "B"}\n'
    )
    found = collected(corpus__jsonl=data)
    assert found.problems == []
    assert found.files == {
        "d1.txt": b"A title\n\nText\n",
        "7.txt": b"Only contents",
        "%C3%A4.txt": b"B",
    }


def test_tab_separated_lines_are_read() -> None:
    """Two columns or three; line ends of other systems too."""
    found = collected(collection__tsv=b"1\tThe text\r\n2\tA title\tThe text\n")
    assert (found.problems, found.files) == ([], {"1.txt": b"The text", "2.txt": b"A title\n\nThe text"})


def test_a_collection_may_be_of_latin_1() -> None:
    """As TREC's older ones are."""
    found = Collection("corpus.toml", "latin-1")
    found.add("x.tsv", b"1\tcaf\xe9\n")
    assert found.files == {"1.txt": "café".encode()}


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("x__jsonl", b"{\n", "x.jsonl line 1: not JSON"),
        ("x__jsonl", b"[]\n", "x.jsonl line 1: an object is expected"),
        ("x__jsonl", b'{"text": "a"}\n', "x.jsonl line 1: it has no id"),
        ("x__jsonl", b'{"_id": true, "text": "a"}\n', "x.jsonl line 1: it has no id"),
        ("x__jsonl", b'{"_id": "1"}\n', "x.jsonl line 1: it has no text"),
        ("x__jsonl", b'{"_id": "1", "text": "a", "title": 5}\n', "x.jsonl line 1: it has no text"),
        ("x__jsonl", b'{"_id": "", "text": "a"}\n', "x.jsonl line 1: the id is empty"),
        ("x__jsonl", b"\n \n", "x.jsonl: it holds no document"),
        ("x__tsv", b"1\tcaf\xe9\n", "x.tsv line 1: it is not UTF-8 at byte 5"),
        ("x__tsv", b"1\n", "x.tsv line 1: it has 1 columns"),
        ("x__tsv", b"1\ta\tb\tc\n", "x.tsv line 1: it has 4 columns"),
        ("x__tsv", b"\xe4" * 3, "x.tsv line 1: it is not UTF-8 at byte 0"),
        ("x__tsv", b"%unmapped-1\ta\n", "x.tsv line 1: no id may begin with"),
        ("x__tsv", b"x" * 201 + b"\ta\n", "x.tsv line 1: the id takes 201 bytes"),
        ("x", b"<DOC><TEXT>a</TEXT></DOC>", "x document 1: it has no <DOCNO>"),
        ("x", b"a<DOC><DOCNO>1</DOCNO></DOC>", "x document 1: there is text before its <DOC>"),
        ("x", b"<DOC><DOCNO>1</DOCNO></DOC> <DOC>", "x end: there is text after the last </DOC>"),
        ("x", b"", "x: it holds no document"),
    ],
)
def test_what_is_no_document_is_refused(name: str, data: bytes, message: str) -> None:
    """By file and place, with one message."""
    (found,) = collected(**{name: data}).problems
    assert str(found).startswith(f"corpus.toml: {message}")


def test_an_id_stands_once_in_all_files() -> None:
    """Which of the documents is meant, nobody knows."""
    found = collected(a__tsv=b"1\ta\n", b__jsonl=b'{"id": 1, "text": "b"}\n{"id": 2, "text": "c"}\n')
    assert [str(problem) for problem in found.problems] == [
        "corpus.toml: b.jsonl line 1: the id '1' is taken by a.tsv line 1"
    ]


def test_everything_that_is_wrong_is_told() -> None:
    """One fault hides no other."""
    assert len(collected(a__tsv=b"1\n2\n", b__jsonl=b"{\n{\n", c=b"x").problems) == 5
