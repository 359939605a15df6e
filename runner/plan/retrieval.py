"""Does a study of retrieval systems fit together, and what does it ask?

Knows the declared study and its query sets; whether labels name sources of the corpus is asked where both are known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runner.core.errors import EvidenceError, Problem, StudyError
from runner.core.resolved import ResolvedQuery
from runner.core.retrieval.queries import BeirFolder, JsonlQueries, TrecQrels, TrecTopics
from runner.core.retrieval.queryset import lock_of, lock_problems
from runner.core.study import ReconsolidationClient, RetrievalClient
from runner.core.systems import McpSystem
from runner.plan.queries import LOCK_NAME, read_query_set, read_query_set_lock

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from runner.core.corpus import CorpusLock
    from runner.core.resolved import ResolvedTask
    from runner.core.retrieval.queries import QuerySet, QuerySetFile
    from runner.core.study import Arm, StudyFile, Task
    from runner.ports.files import Files

_RANKING_BYTES: Final = 400
"""Of a line of the program's output, besides its results."""
_RESULT_BYTES: Final = 48


def study_problems(declared: StudyFile, document: str) -> Iterator[Problem]:
    """Everything in a study that only a retrieval study may have, or that one may not have."""
    if not isinstance(declared.client, RetrievalClient):
        yield from _foreign_problems(declared, document)
        return
    if "model" in declared.model_fields_set:
        yield Problem("a retrieval study has no model", document, "model", "leave the table out")
    if declared.labels is not None:
        yield Problem("the query sets of a retrieval study bring its labels", document, "labels", "leave it out")
    if declared.client.threads > declared.limits.cpus:
        message = f"{declared.client.threads} threads on {declared.limits.cpus} CPUs"
        yield Problem(message, document, "client.threads", "at most limits.cpus")
    for arm in declared.arms:
        for message, key, hint in _arm_faults(arm):
            yield Problem(message, document, f"arms.{arm.name}.{key}", hint)


def _foreign_problems(declared: StudyFile, document: str) -> Iterator[Problem]:
    is_reconsolidation = isinstance(declared.client, ReconsolidationClient)
    if declared.model.mode == "none" and "model" in declared.model_fields_set and not is_reconsolidation:
        yield Problem("only a retrieval study has no model", document, "model.mode", "say who plays it")
    for arm in declared.arms:
        if arm.system is not None and arm.system.is_retrieval:
            message = "only a client of kind retrieval asks such a system"
            yield Problem(message, document, f"arms.{arm.name}.system", "leave it out")


def needs_model(declared: StudyFile) -> bool:
    """Whether the study lacks a model, and isn't one that has none."""
    return "model" not in declared.model_fields_set and not isinstance(declared.client, RetrievalClient)


def task_fault(declared: StudyFile, task: Task) -> str:
    """Why this task isn't one of this study's kind; "" when it is."""
    is_reconsolidation = isinstance(declared.client, ReconsolidationClient)
    if is_reconsolidation or task.cases is not None:
        if is_reconsolidation == (task.cases is not None):
            return ""
        return "a reconsolidation study gives cases" if is_reconsolidation else "only a reconsolidation study has cases"
    is_retrieval = isinstance(declared.client, RetrievalClient)
    if is_retrieval == (task.queries is not None):
        return ""
    return "a retrieval study asks queries, not a prompt" if is_retrieval else "only a retrieval study asks queries"


def output_problems(declared: StudyFile, tasks: Mapping[str, ResolvedTask], document: str) -> Iterator[Problem]:
    """A set whose rankings would be cut off."""
    if not isinstance(declared.client, RetrievalClient):
        return
    line = _RANKING_BYTES + declared.client.depth * _RESULT_BYTES
    for task in tasks.values():
        needed = len(task.queries) * line
        if needed > declared.limits.stdout_bytes:
            message = f"{len(task.queries)} rankings of {task.id} may need {needed} bytes"
            yield Problem(message, document, "limits.stdout_bytes", "raise it, or lower client.depth")


def read_queries(
    path: Path, files: Files, corpus: CorpusLock | None
) -> tuple[QuerySet | None, dict[Path, bytes], tuple[Problem, ...]]:
    """The query set at `path`, the bytes of its files and its lock, and everything that is wrong with it.

    Where the task's corpus could be read, the set must be frozen, unchanged, and for that very tree.
    """
    read = read_query_set(path, files)
    named = () if read.queries is None else _named(read.queries.declared)
    places = [path, *(path.parent / name for name in (LOCK_NAME, *named))]
    kept = {place: data for place in places if (data := files.read(place)) is not None}
    if read.queries is None or corpus is None:
        return read.queries, kept, read.problems
    try:
        frozen = read_query_set_lock(path, files)
    except (StudyError, EvidenceError) as error:
        return read.queries, kept, error.problems
    now = lock_of(read.queries, corpus.name, corpus.tree_sha256)
    return read.queries, kept, lock_problems(now, frozen, str(path.parent / LOCK_NAME))


def _named(declared: QuerySetFile) -> tuple[str, ...]:
    """The files that the set names, from its own folder."""
    match declared.queries:
        case BeirFolder(path=path, split=split):
            return (f"{path}/queries.jsonl", f"{path}/qrels/{split}.tsv")
        case TrecTopics(topics=asked) | JsonlQueries(path=asked):
            labels = declared.labels
            judged = labels.qrels if isinstance(labels, TrecQrels) else labels.path if labels is not None else asked
            return (asked, judged)


def asked_of(queries: QuerySet) -> tuple[ResolvedQuery, ...]:
    """What of a set's queries may enter a trial."""
    return tuple(
        ResolvedQuery(id=query.id, text=query.text, workspace=query.workspace, at_s=query.at_s)
        for query in queries.queries
    )


def needs_sidecar(arm: Arm) -> bool:
    """Whether the arm reaches the sidecar: it says so, or its system is one that searches there."""
    return arm.sidecar or (arm.system is not None and arm.system.is_own)


def _arm_faults(arm: Arm) -> Iterator[tuple[str, str, str]]:
    if arm.instructions is not None:
        yield "a retrieval client takes none", "instructions", "leave it out"
    system = arm.system
    if system is None or not system.is_retrieval:
        yield "an arm of a retrieval study needs its system", "system", 'as in system = { kind = "bm25" }'
        return
    if not isinstance(system, McpSystem):
        if arm.mcp_servers:
            yield "only a system of kind mcp asks a server", "mcp_servers", "leave it out"
        if not arm.sidecar and "sidecar" in arm.model_fields_set:
            yield f"a system of kind {system.kind} searches the sidecar", "sidecar", "leave it out"
        return
    if len(arm.mcp_servers) != 1:
        yield "a system of kind mcp needs exactly one server", "mcp_servers", ""
    elif system.tool not in arm.mcp_servers[0].tools:
        yield f"the server {arm.mcp_servers[0].name!r} declares no tool {system.tool!r}", "system.tool", ""
