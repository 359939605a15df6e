"""Did a model say what the client gives as its answer? The gateway's bodies are held against the client's word.

Any process of the client's user can write a result into its output; only the gateway knows what a model answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runner.clients.report import finding
from runner.core.events import Corrupt, json_objects, plain_text
from runner.core.evidence import BODIES
from runner.core.findings import FindingKind
from runner.core.quantities import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.collect.verdict import Case
    from runner.core.canonical import Json
    from runner.core.records import Finding

# Their answer is a message of the Messages API, word for word; others put theirs together, or speak another protocol.
_REPEAT_A_MESSAGE: Final = frozenset({"claude-code"})
_DATA: Final = "data:"


def answer_findings(case: Case) -> Iterator[Finding]:
    """A finding if no model said the client's answer; none where not every body was recorded, or it has no answer.

    White space is no part of what is compared: clients trim and join the blocks of a message.
    """
    log, answer = case.documents.exchanges, case.said.answer
    if case.expectation.client not in _REPEAT_A_MESSAGE or isinstance(log, Unavailable) or not answer.split():
        return
    wanted = {exchange.seq for exchange in log.exchanges if exchange.owner == "client" and exchange.reached_model()}
    said = {seq: text for seq, text in _responses(case.files.get(BODIES, b"")) if seq in wanted}
    compact = "".join(answer.split())
    if not wanted or said.keys() != wanted:
        return
    if not any(compact in "".join(_text_of(response).split()) for response in said.values()):
        yield finding(FindingKind.ANSWER_UNOBSERVED, f"no model said {answer!r}")


def is_somebody_elses(case: Case) -> bool:
    """Whether the last of several results gives an answer that no model gave.

    A client may give several results of its own, and each repeats what a model said: this one isn't the client's.
    """
    several = any(found.kind == FindingKind.SEVERAL_RESULTS for found in case.said.findings)
    return several and any(answer_findings(case))


def _responses(bodies: bytes) -> Iterator[tuple[int, str]]:
    for _, item in json_objects(bodies):
        if isinstance(item, Corrupt):
            continue
        seq, response = item.get("seq"), item.get("response")
        if isinstance(seq, int) and isinstance(response, str):
            yield seq, response


def _text_of(response: str) -> str:
    """The text of a message of the Messages API, streamed or whole."""
    text = plain_text(response)
    if not text.lstrip().startswith("{"):
        data = (line.removeprefix(_DATA) for line in text.split("\n") if line.startswith(_DATA))
        events = _objects("\n".join(data))
        return "".join(text for event in events for text in _texts(event.get("delta"), event.get("content_block")))
    # A line end within JSON is white space between its tokens: within a text it would be escaped.
    blocks = next((message.get("content") for message in _objects(text.replace("\n", " "))), None)
    return "".join(_texts(*(blocks if isinstance(blocks, list) else ())))


def _objects(text: str) -> Iterator[Mapping[str, Json]]:
    for _, item in json_objects(text.encode("utf-8")):
        if not isinstance(item, Corrupt):
            yield item


def _texts(*blocks: Json) -> Iterator[str]:
    for block in blocks:
        text = block.get("text") if isinstance(block, dict) else None
        if isinstance(text, str):
            yield text
