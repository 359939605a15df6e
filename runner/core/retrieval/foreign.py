"""Which queries and labels stand in the field's own files? TREC topics and qrels, and the files of a BEIR folder."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from runner.core.retrieval.lines import json_lines, text_lines
from runner.core.retrieval.queries import HIGHEST_FOREIGN_GRADE, Judgement, Query
from runner.core.retrieval.reading import sound_labels, sound_queries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runner.core.retrieval.lines import Complaints
    from runner.core.retrieval.queries import Split
    from runner.core.retrieval.reading import JudgementLines, QueryLines

_TAG: Final = re.compile(r"<(/?)(top|num|title|desc|narr)\b[^>]*>", re.IGNORECASE)
# What stands before the value inside of a field, as in TREC 1 to 2010.
_LABELS: Final = {"num": "number:", "title": "topic:", "desc": "description:", "narr": "narrative:"}
_TAGS: Final = {"title": "title", "description": "desc"}
_BEIR_HEADER: Final = ["query-id", "corpus-id", "score"]
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,9}")


class _BeirQuery(BaseModel):
    # Folders of the field carry keys of their own.
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    id: str = Field(alias="_id")
    text: str


def read_trec_topics(data: bytes, field: Literal["title", "description"], complaints: Complaints) -> QueryLines:
    """The topics of a TREC file: `<top>` blocks, of which `field` is asked, or an id, a tab and a text a line."""
    lines = list(text_lines(data, complaints))
    if any(tag.group(2).lower() == "top" for _, text in lines for tag in _TAG.finditer(text)):
        return sound_queries(list(_blocks(lines, field, complaints)), complaints)
    found: QueryLines = []
    for number, text in lines:
        name, tab, rest = text.partition("\t")
        if tab:
            found.append((number, Query(id=name.strip(), text=rest.strip())))
        else:
            complaints.lose("neither a <top> block nor an id, a tab and a text", f"line {number}")
    return sound_queries(found, complaints)


def read_trec_qrels(data: bytes, complaints: Complaints) -> JudgementLines:
    """The judgements of a TREC qrels file: query, iteration, document, grade."""
    rows = ((number, text.split()) for number, text in text_lines(data, complaints))
    return _judgements(rows, (0, 2, 3), "query, iteration, document and grade", complaints)


def read_beir_queries(data: bytes, split: Split, complaints: Complaints) -> QueryLines:
    """The queries of a BEIR folder's `queries.jsonl`, all of them of `split`."""
    lines = [
        (number, Query(id=line.id, text=line.text, split=split))
        for number, line in json_lines(_BeirQuery, data, complaints)
    ]
    return sound_queries(lines, complaints)


def read_beir_qrels(data: bytes, complaints: Complaints) -> JudgementLines:
    """The judgements of a BEIR folder's `qrels/<split>.tsv`, with or without its header line."""
    rows = ((number, text.split("\t")) for number, text in text_lines(data, complaints))
    return _judgements(
        (row for row in rows if row[1] != _BEIR_HEADER), (0, 1, 2), "query-id, corpus-id and score", complaints
    )


def _blocks(
    lines: Sequence[tuple[int, str]], field: Literal["title", "description"], complaints: Complaints
) -> Iterator[tuple[int, Query]]:
    """The topics of `<top>` blocks; a tag ends the field before it, so that closing tags are optional."""
    asked = _TAGS[field]
    begun = 0
    fields: dict[str, str] = {}
    current = ""

    def ended() -> Iterator[tuple[int, Query]]:
        if not begun:
            return
        values = {name: _value(name, text) for name, text in fields.items()}
        for name in ("num", asked):
            if not values.get(name):
                complaints.lose(f"the topic has no <{name}>", f"line {begun}")
                return
        yield begun, Query(id=values["num"], text=values[asked])

    for number, text in lines:
        position = 0
        for tag in _TAG.finditer(text):
            fields[current] = f"{fields.get(current, '')} {text[position : tag.start()]}"
            position = tag.end()
            name = tag.group(2).lower()
            current = "" if tag.group(1) else name
            if name == "top":
                yield from ended()
                begun, fields, current = (0 if tag.group(1) else number), {}, ""
        fields[current] = f"{fields.get(current, '')} {text[position:]}"
    yield from ended()


def _value(name: str, text: str) -> str:
    flat = " ".join(text.split())
    label = _LABELS.get(name, "")
    return flat[len(label) :].strip() if label and flat.lower().startswith(label) else flat


def _judgements(
    rows: Iterable[tuple[int, list[str]]], columns: tuple[int, int, int], names: str, complaints: Complaints
) -> JudgementLines:
    found: JudgementLines = []
    wanted = columns[-1] + 1
    for number, row in rows:
        if len(row) != wanted:
            complaints.lose(f"{len(row)} columns, not {wanted}: {names}", f"line {number}")
            continue
        query, source, grade = (row[column].strip() for column in columns)
        if not _WHOLE.fullmatch(grade):
            complaints.lose(f"the grade {grade[:40]!r} is not a whole number", f"line {number}: grade")
            continue
        found.append((number, Judgement(query=query, source=source, grade=int(grade))))
    return sound_labels(found, HIGHEST_FOREIGN_GRADE, complaints)
