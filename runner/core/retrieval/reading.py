"""Which queries and labels stand in a file of ours? JSONL, one query or label a line.

A reader takes a file's bytes and gives what it holds, line by line. What is wrong with a line is complained about, and
the line left out; what needs more than one file is checked where a set is put together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from runner.core.documents import Part
from runner.core.instants import seconds_of
from runner.core.retrieval.lines import json_lines
from runner.core.retrieval.queries import (
    HIGHEST_GRADE,
    QUERY_ID_LIMIT,
    QUERY_LIMIT_BYTES,
    Judgement,
    Kind,
    Query,
    Split,
)
from runner.core.sources import is_one_word

if TYPE_CHECKING:
    from runner.core.retrieval.lines import Complaints

QueryLines: TypeAlias = list[tuple[int, Query]]
"""Queries, each with the number of the line on which it begins."""
JudgementLines: TypeAlias = list[tuple[int, Judgement]]


class _QueryLine(Part):
    id: str
    text: str
    workspace: str = ""
    at: str | None = None
    split: Split = "development"
    kind: Kind = "unspecified"
    tags: tuple[str, ...] = ()


def read_queries(data: bytes, complaints: Complaints) -> QueryLines:
    """The queries of a JSONL file of ours."""
    found: QueryLines = []
    for number, line in json_lines(_QueryLine, data, complaints):
        at_s = None
        try:
            at_s = None if line.at is None else seconds_of(line.at)
        except ValueError as error:
            complaints.add(str(error), f"line {number}: at")
        stated = line.model_dump(exclude={"at"})
        found.append((number, Query(**stated, at_s=at_s)))
    return sound_queries(found, complaints)


def read_labels(data: bytes, complaints: Complaints) -> JudgementLines:
    """The labels of a JSONL file of ours; their sources are paths."""
    return sound_labels(list(json_lines(Judgement, data, complaints)), HIGHEST_GRADE, complaints)


def sound_queries(lines: QueryLines, complaints: Complaints) -> QueryLines:
    """The queries that can be asked: with a text, and an id that no other has."""
    found: QueryLines = []
    first: dict[str, int] = {}
    for number, query in lines:
        fault = _id_fault(query.id)
        if fault:
            complaints.add(fault, f"line {number}: id")
        elif query.id in first:
            complaints.add(f"the id {query.id!r} is taken by line {first[query.id]}", f"line {number}: id")
        else:
            first[query.id] = number
            size = len(query.text.encode("utf-8"))
            if not query.text.strip():
                complaints.add("the query is empty", f"line {number}: text")
            elif size > QUERY_LIMIT_BYTES:
                complaints.add(f"the query has {size} bytes; the limit is {QUERY_LIMIT_BYTES}", f"line {number}: text")
            # Labels may name it all the same: what is wrong with it is told once.
            found.append((number, query))
    return found


def sound_labels(lines: JudgementLines, highest: int, complaints: Complaints) -> JudgementLines:
    """The labels, one for each query and source; a grade below 0 counts as 0, one out of range is complained about.

    TREC qrels write -1 and -2 for what was judged to be of no use at all (spam, or not in the pool): no gain.
    """
    found: JudgementLines = []
    first: dict[tuple[str, str], int] = {}
    lowest = 0 if highest == HIGHEST_GRADE else -highest
    for number, label in lines:
        if not lowest <= label.grade <= highest:
            complaints.add(f"the grade {label.grade} is not one of 0 to {highest}", f"line {number}: grade")
        pair = (label.query, label.source)
        if pair in first:
            message = f"line {first[pair]} judges {_short(label.source)} for {_short(label.query)} already"
            complaints.add(message, f"line {number}")
            continue
        first[pair] = number
        kept = label if label.grade >= 0 else label.model_copy(update={"grade": 0})
        found.append((number, kept))
    return found


def _id_fault(name: str) -> str:
    if not name:
        return "the id is empty"
    if len(name) > QUERY_ID_LIMIT:
        return f"the id has {len(name)} characters; the limit is {QUERY_ID_LIMIT}"
    if not is_one_word(name):
        return f"the id {name!r} has white space, where columns of TREC files end"
    return ""


def _short(text: str) -> str:
    return repr(text if len(text) <= QUERY_ID_LIMIT else text[:QUERY_ID_LIMIT] + "…")
