"""Did a model say what the client gives as its answer? What the gateway saw is held against the client's word.

Any process of the client's user can write a result into its output; only the gateway knows what a model answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runner.clients.report import finding
from runner.core.canonical import sha256_digest
from runner.core.findings import FindingKind
from runner.core.quantities import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.collect.verdict import Case
    from runner.core.records import Finding

# Their answer is a text of a message of the Messages API, or all of its texts; others put theirs together, or speak
# another protocol.
_REPEAT_A_MESSAGE: Final = frozenset({"claude-code"})


def answer_findings(case: Case) -> Iterator[Finding]:
    """A finding if no model said the client's answer; none where the gateway didn't read every one, or it has none.

    White space is no part of what is compared: clients trim and join the texts of a message.
    """
    log, answer = case.documents.exchanges, case.said.answer
    compact = "".join(answer.split())
    if case.expectation.client not in _REPEAT_A_MESSAGE or isinstance(log, Unavailable) or not compact:
        return
    asked = [exchange for exchange in log.exchanges if exchange.owner == "client" and exchange.reached_model()]
    said = [exchange.texts_sha256 for exchange in asked if exchange.texts_sha256 is not None]
    if not asked or len(said) != len(asked):
        return
    wanted = sha256_digest(compact.encode("utf-8"))
    if not any(wanted in texts for texts in said):
        yield finding(FindingKind.ANSWER_UNOBSERVED, f"no model said {answer!r}")


def is_somebody_elses(case: Case) -> bool:
    """Whether the last of several results gives an answer that no model gave.

    A client may give several results of its own, and each repeats what a model said: this one isn't the client's.
    """
    several = any(found.kind == FindingKind.SEVERAL_RESULTS for found in case.said.findings)
    return several and any(answer_findings(case))
