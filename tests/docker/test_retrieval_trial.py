"""Retrieval trials in real containers: every system against a computation that shares no code with it.

The images under test are named by PAIRBENCH_RETRIEVAL_IMAGE and PAIRBENCH_QDRANT_IMAGE. The program runs as trials run
it: without a network but the sidecar's loopback, on a read-only root, as a user without any capability.
"""

from __future__ import annotations

import base64
import io
import json
import math
import os
import tarfile
import uuid
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from runner.clients.retrieval_events import rankings_of, start_of
from runner.core.retrieval.rankings import SpanResult, UnmappedResult

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import docker
    from docker.models.containers import Container

    from runner.clients.retrieval_events import Answered

IMAGE, SIDECAR = (os.environ.get(f"PAIRBENCH_{name}_IMAGE", "") for name in ("RETRIEVAL", "QDRANT"))
pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(not (IMAGE and SIDECAR), reason="PAIRBENCH_RETRIEVAL_IMAGE or _QDRANT_IMAGE names no image"),
]
PATIENCE_S = 120
DEPTH = 25
# A stemmer for English leaves these as they are.
VOCABULARY = (
    *("kolt", "brim", "dask", "fen", "gorp", "hulk", "jab", "lamp", "mint", "nook"),
    *("plum", "quill", "rust", "stump", "tusk", "vent", "wharf", "yard", "zinc", "dock"),
)
TOLERANCE = 2e-6
"""Engines add in float32, the expectations in float64."""

FILL = """
import base64, json, subprocess, sys, urllib.request
def said(program, texts):
    open("/tmp/texts.jsonl", "w").write("".join(json.dumps({"text": text}) + "\\n" for text in texts))
    subprocess.run([sys.executable, f"/opt/pairbench/{program}.py", "run", "--texts", "/tmp/texts.jsonl", "--vectors", "/tmp/out"],
                   check=True, stderr=subprocess.DEVNULL)
    return [json.loads(line) for line in open("/tmp/out")]
def ask(method, path, body):
    request = urllib.request.Request("http://127.0.0.1:6333" + path, json.dumps(body).encode(), method=method,
                                     headers={"Content-Type": "application/json"})
    urllib.request.urlopen(request).read()
given = json.load(open("/in/corpus.json"))
texts = [passage["text"] for passage in given["passages"]]
dense, sparse = said("memory/embed", texts), said("retrieval/sparse", texts)
import array
def floats(line):
    return array.array("f", base64.b64decode(line["vector"])).tolist()
while True:
    try:
        urllib.request.urlopen("http://127.0.0.1:6333/readyz")
        break
    except OSError:
        pass
ask("PUT", "/collections/memory", {"vectors": {"size": 384, "distance": "Cosine"}, "sparse_vectors": {"bm25": {"modifier": "idf"}}})
for passage, one, other in zip(given["passages"], dense, sparse):
    point = {"id": passage.pop("id"), "vector": {"": floats(one), "bm25": other}, "payload": passage}
    ask("PUT", "/collections/memory/points?wait=true", {"points": [point]})
print(json.dumps({"dense": [line["vector"] for line in dense], "queries": [line["vector"] for line in said("memory/embed", given["queries"])]}))
"""

# A server of somebody else's: one tool, and an answer that depends on the query.
SERVER = """
import json, sys
def answer(text):
    if "fail" in text:
        return {"content": [{"type": "text", "text": "the index is  broken"}], "isError": True}
    lines = {"none": "Nothing found.", "odd": "what?"}.get(text.split()[0])
    found = "1. a.md 0.5\\n2. ?\\n3. b.md 0.75" if lines is None else lines
    return {"content": [{"type": "text", "text": found}], "isError": False}
for line in sys.stdin:
    call = json.loads(line)
    method, params = call.get("method"), call.get("params") or {}
    if "id" not in call:
        continue
    if method == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "theirs", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "find", "inputSchema": {"type": "object"}}]}
    else:
        result = answer(params["arguments"]["text"] + " " + json.dumps(params["arguments"], sort_keys=True))
    print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}), flush=True)
"""
THEIRS = {"command": "python3", "args": ["/in/server.py"], "env": {"PATH": "/usr/bin:/bin"}}
OURS = {"command": "python3", "args": ["/opt/pairbench/memory/server.py"], "env": {"PATH": "/usr/bin:/bin"}}
SPANS = r"(?m)^\[\d+\] id=(?P<id>\d+) source=(?P<source>\S+) bytes=(?P<start>\d+)-(?P<end>\d+)"


def _passages() -> list[dict[str, Any]]:
    """Sixty passages of ten words of the vocabulary; some are the same text, and some are bounded."""
    found: list[dict[str, Any]] = []
    for number in range(60):
        # Every tenth repeats the one before it: equal scores, whatever the query.
        base = number - 1 if number % 10 == 9 else number
        words = [VOCABULARY[(base * 7 + at * at * (1 + base % 3)) % len(VOCABULARY)] for at in range(6 + base % 7)]
        passage = {"id": number, "source": f"notes/{number % 20}.md", "start": number, "end": number + 50}
        bounds: list[dict[str, Any]] = [
            {},
            {"workspace": "harbour"},
            {"workspace": "hill"},
            {"status": "deleted"},
            {"known_from_s": 1000},
            {"expires_s": 1000},
        ]
        found.append(passage | {"title": "A note", "text": " ".join(words)} | bounds[number % 6])
    return found


PASSAGES = _passages()
BY_ID = {passage["id"]: passage for passage in PASSAGES}
QUERIES: list[dict[str, Any]] = [
    {"id": "everyone", "text": "kolt brim fen", "workspace": "", "at_s": None},
    {"id": "harbour", "text": "dask gorp Lamp nook", "workspace": "harbour", "at_s": None},
    {"id": "early", "text": "rust stump tusk tusk", "workspace": "hill", "at_s": 999},
    {"id": "late", "text": "vent wharf yard zinc", "workspace": "hill", "at_s": 1000},
    {"id": "no-word", "text": "?!", "workspace": "harbour", "at_s": 5},
    {"id": "unknown", "text": "xylophones", "workspace": "", "at_s": None},
]
NAMES = [query["id"] for query in QUERIES]


def _is_visible(query: Mapping[str, Any], passage: Mapping[str, Any]) -> bool:
    at = query["at_s"]
    return (
        passage.get("workspace", "") in ("", query["workspace"])
        and passage.get("status", "live") == "live"
        and (at is None or passage.get("known_from_s", 0) <= at < passage.get("expires_s", math.inf))
    )


@dataclass
class Trials:
    """A sidecar that holds the passages, and trials beside it."""

    engine: docker.DockerClient
    sidecar: Container
    volume: str
    labels: dict[str, str]
    dense: np.ndarray[Any, Any]
    asked: np.ndarray[Any, Any]
    _outputs: dict[str, bytes] = field(default_factory=dict)

    def output(self, kind: str) -> bytes:
        """The output of one of our systems without options, of a trial that ran once."""
        if kind not in self._outputs:
            code, out, err = self.run({"kind": kind})
            assert (code, err) == (0, "")
            self._outputs[kind] = out
        return self._outputs[kind]

    def plain(self, kind: str) -> dict[str, Answered]:
        """What each query brought in that trial."""
        return {answer.query: answer for answer in rankings_of(self.output(kind), NAMES)}

    def run(self, system: Mapping[str, Any], **changed: Any) -> tuple[int, bytes, str]:
        """Exit code, standard output and standard error of a trial."""
        launch = {
            "format": "pairbench/retrieval-launch",
            "version": 1,
            "system": system,
            "depth": DEPTH,
            "threads": 1,
            "warmup": 1,
            "url": "http://127.0.0.1:6333",
            "collection": "memory",
            "servers": {},
            "mcp_tools": [],
            "queries": QUERIES,
        } | changed
        put(self.sidecar, {"retrieval.json": json.dumps(launch)})
        return contained(self, ["python3", "/opt/pairbench/retrieval/main.py", "/in/retrieval.json"])

    def answers(self, system: Mapping[str, Any], **changed: Any) -> dict[str, Answered]:
        """What each query brought, in a trial that must have ended well."""
        code, out, err = self.run(system, **changed)
        assert (code, err) == (0, "")
        names = [query["id"] for query in changed.get("queries", QUERIES)]
        return {answer.query: answer for answer in rankings_of(out, names)}


def put(container: Container, files: Mapping[str, str]) -> None:
    """The files are in what trials see as `/in`."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(text.encode()), 0o644
            tar.addfile(member, io.BytesIO(text.encode()))
    assert container.put_archive("/trial-in", archive.getvalue())


def contained(trials: Trials, argv: Sequence[str]) -> tuple[int, bytes, str]:
    """Exit code, standard output and standard error of a program where trials run."""
    container = trials.engine.containers.create(
        IMAGE,
        command=[],
        entrypoint=list(argv),
        user="10002:10002",
        network_mode=f"container:{trials.sidecar.id}",
        read_only=True,
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        mem_limit="1g",
        pids_limit=256,
        environment={"HOME": "/home/agent"},
        tmpfs={"/tmp": "rw,mode=1777,size=16m", "/home/agent": "rw,uid=10002,gid=10002,mode=0700,size=1m"},
        volumes={trials.volume: {"bind": "/in", "mode": "ro"}},
        labels=trials.labels,
    )
    try:
        container.start()
        code = container.wait(timeout=PATIENCE_S)["StatusCode"]
        return code, container.logs(stderr=False), container.logs(stdout=False).decode()
    finally:
        container.remove(force=True)


@pytest.fixture(scope="module")
def trials(engine: docker.DockerClient) -> Iterator[Trials]:
    """The sidecar, filled with vectors that the image's own programs made."""
    labels = {"pairbench.test": uuid.uuid4().hex}
    with ExitStack() as cleanup:
        volume = engine.volumes.create(f"pairbench-test-{uuid.uuid4().hex}", labels=labels)
        cleanup.callback(volume.remove)
        sidecar = engine.containers.create(
            SIDECAR,
            command=[],
            entrypoint=["python3", "/opt/pairbench/sidecar/main.py", "serve", "--storage", "/qdrant/storage"],
            user="10003:10003",
            network_mode="none",
            tmpfs={"/qdrant/storage": "rw,uid=10003,gid=10003,mode=0700,size=256m"},
            volumes={str(volume.name): {"bind": "/trial-in"}},
            labels=labels,
        )
        cleanup.callback(sidecar.remove, force=True)
        sidecar.start()
        nothing = np.zeros((0, 384))
        found = Trials(engine, sidecar, str(volume.name), labels, nothing, nothing)
        given = {"passages": PASSAGES, "queries": [query["text"] for query in QUERIES]}
        put(sidecar, {"corpus.json": json.dumps(given), "fill.py": FILL, "server.py": SERVER})
        code, out, err = contained(found, ["python3", "/in/fill.py"])
        assert code == 0, err
        vectors = json.loads(out)
        found.dense, found.asked = (
            np.array([np.frombuffer(base64.b64decode(text), "<f4") for text in vectors[name]], dtype=np.float64)
            for name in ("dense", "queries")
        )
        yield found


def cosines(trials: Trials, query: Mapping[str, Any]) -> dict[int, float]:
    """Every passage that the query may see, and its cosine in float64."""
    asked = trials.asked[NAMES.index(query["id"])]
    return {
        passage["id"]: float(trials.dense[passage["id"]] @ asked) for passage in PASSAGES if _is_visible(query, passage)
    }


def bm25(query: Mapping[str, Any]) -> dict[int, float]:
    """Every passage that the query may see and shares a word with, and its BM25 score as the textbook has it."""
    documents = {passage["id"]: Counter(passage["text"].split()) for passage in PASSAGES}
    average = sum(sum(counts.values()) for counts in documents.values()) / len(documents)
    scores: dict[int, float] = {}
    for term in set(query["text"].lower().split()):
        having = [number for number, counts in documents.items() if term in counts]
        idf = math.log(1 + (len(documents) - len(having) + 0.5) / (len(having) + 0.5))
        for number in having:
            count, length = documents[number][term], sum(documents[number].values())
            weight = count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / average))
            scores[number] = scores.get(number, 0.0) + idf * weight
    return {number: score for number, score in scores.items() if _is_visible(query, BY_ID[number])}


def fused(*lists: Mapping[int, float]) -> dict[int, tuple[float, float]]:
    """Every passage of lists of scores, and what its reciprocal rank fusion can be: ranks count from 0, k = 60.

    Equal scores stand in a list as the engine has them, so each of them may have any of their ranks.
    """
    bounds: dict[int, tuple[float, float]] = {}
    for found in lists:
        for number, score in found.items():
            above = sum(other > score + TOLERANCE for other in found.values())
            equal = sum(abs(other - score) <= TOLERANCE for other in found.values())
            low, high = bounds.get(number, (0.0, 0.0))
            bounds[number] = low + 1 / (60 + above + equal - 1), high + 1 / (60 + above)
    return bounds


def agrees(answer: Answered, expected: Mapping[int, float], tolerance: float = TOLERANCE) -> None:
    """The answer is the ranking of `expected`, up to swaps of scores that differ by less than `tolerance`."""
    assert len(answer.passages) == min(DEPTH, len(expected)), answer.query
    for number, score in zip(answer.passages, answer.scores_e6, strict=True):
        assert score / 1e6 == pytest.approx(expected[number], abs=tolerance), answer.query
    left = [score for number, score in expected.items() if number not in answer.passages]
    if left:
        assert max(left) <= answer.scores_e6[-1] / 1e6 + tolerance, answer.query
    keys = [(-score, number) for number, score in zip(answer.passages, answer.scores_e6, strict=True)]
    assert keys == sorted(keys), answer.query


def rankings(out: bytes) -> list[dict[str, Any]]:
    """The ranking events without their times."""
    events = [json.loads(line) for line in out.splitlines()]
    return [
        {key: value for key, value in event.items() if not key.endswith("_us")}
        for event in events
        if event["type"] == "ranking"
    ]


def test_dense_rankings_are_those_of_a_brute_force(trials: Trials) -> None:
    """All passages compared with NumPy; nothing that the query may not see, and equal texts by id."""
    found = trials.plain("dense")
    for query in QUERIES:
        agrees(found[query["id"]], cosines(trials, query))
    twins = [number for number in found["everyone"].passages if number % 10 in {8, 9}]
    assert all(
        number - 1 in twins for number in twins if number % 10 == 9 and _is_visible(QUERIES[0], BY_ID[number - 1])
    )


def test_bm25_rankings_are_those_of_the_textbook(trials: Trials) -> None:
    """Qdrant's IDF times our weights; a query without a known word finds nothing, which is no failure."""
    found = trials.plain("bm25")
    for query in QUERIES:
        agrees(found[query["id"]], bm25(query), tolerance=1e-5)
    assert (found["no-word"].passages, found["unknown"].passages, found["unknown"].error) == ((), (), "")


def test_hybrid_rankings_are_fused_by_rank(trials: Trials) -> None:
    """Of both lists; of the dense one alone where no word is known."""
    found = trials.plain("hybrid")
    for query in QUERIES:
        answer, expected = found[query["id"]], fused(cosines(trials, query), bm25(query))
        assert len(answer.passages) == min(DEPTH, len(expected))
        for number, score in zip(answer.passages, answer.scores_e6, strict=True):
            low, high = expected[number]
            assert low - TOLERANCE <= score / 1e6 <= high + TOLERANCE, (query["id"], number)
        left = [low for number, (low, _) in expected.items() if number not in answer.passages]
        assert not left or max(left) <= answer.scores_e6[-1] / 1e6 + TOLERANCE


def test_forms_of_a_word_meet_in_bm25(trials: Trials) -> None:
    """The stemmer of the image: a plural and a gerund find the plain word."""
    asked = [{"id": text, "text": text, "workspace": "", "at_s": None} for text in ("lamp", "LAMPS", "lamping")]
    plain, plural, gerund = trials.answers({"kind": "bm25"}, queries=asked).values()
    assert plain.passages
    assert plain.passages == plural.passages == gerund.passages


@pytest.mark.parametrize(("kind", "threads"), [("dense", 1), ("dense", 2), ("bm25", 1), ("hybrid", 2)])
def test_rankings_depend_on_nothing_but_their_input(trials: Trials, kind: str, threads: int) -> None:
    """A second run gives the same bytes, with one thread and with two."""
    code, out, _ = trials.run({"kind": kind}, threads=threads)
    assert code == 0
    assert json.dumps(rankings(out)) == json.dumps(rankings(trials.output(kind)))


def test_a_system_that_ignores_boundaries_breaks_them(trials: Trials) -> None:
    """The faulty retriever of our own: each boundary that it leaves out lets through what it kept away."""
    for ignored in ("workspace", "status", "time"):
        found = trials.answers({"kind": "dense", "ignore": [ignored]}, depth=60)
        keys = {"workspace": ["workspace"], "status": ["status"], "time": ["known_from_s", "expires_s"]}[ignored]
        for query in QUERIES:
            expected = {
                number
                for number, passage in BY_ID.items()
                if _is_visible(query, {key: value for key, value in passage.items() if key not in keys})
            }
            assert set(found[query["id"]].passages) == expected, (ignored, query["id"])


def test_a_minimum_makes_a_system_abstain(trials: Trials) -> None:
    """What scores less is dropped, and nothing may be left."""
    plain = trials.plain("dense")["everyone"]
    cut = plain.scores_e6[3]
    kept = trials.answers({"kind": "dense", "minimum_score_e6": cut})["everyone"]
    assert kept.passages == tuple(
        number for number, score in zip(plain.passages, plain.scores_e6, strict=True) if score >= cut
    )
    assert trials.answers({"kind": "dense", "minimum_score_e6": 2_000_000})["everyone"].passages == ()


def test_a_small_depth_is_cut_by_the_tie_rule(trials: Trials) -> None:
    """The first results of a deep ranking: the eighth and ninth of a query score the same."""
    deep = trials.plain("bm25")
    for depth in (1, 8):
        found = trials.answers({"kind": "bm25"}, depth=depth)
        for name in NAMES:
            assert found[name].passages == deep[name].passages[:depth]


def test_the_memory_server_is_asked_as_a_foreign_system(trials: Trials) -> None:
    """Our own server over MCP, mapped to spans: what it returns is the nearest that there is, boundaries or not."""
    system = {"kind": "mcp", "tool": "memory_search", "query": "query", "limit": "k", "limit_value": 7}
    system |= {"results": SPANS, "empty": "^No passage found"}
    code, out, err = trials.run(
        system,
        servers={"memory": OURS},
        mcp_tools=["mcp__memory__memory_search", "mcp__memory__memory_get"],
    )
    assert code == 0, err
    start = start_of(out)
    assert start is not None
    assert start.ready.tools == ("mcp__memory__memory_search", "mcp__memory__memory_get")
    for answer, query in zip(rankings_of(out, NAMES), QUERIES, strict=True):
        asked = trials.asked[NAMES.index(query["id"])]
        scores = {
            (passage["source"], passage["start"]): float(trials.dense[passage["id"]] @ asked) for passage in PASSAGES
        }
        found = [scores[span.source, span.start] for span in answer.found if isinstance(span, SpanResult)]
        best = sorted(scores.values(), reverse=True)[:7]
        assert found == pytest.approx(best, abs=2e-5)
        assert (answer.error, answer.unmapped) == ("", 0)


def test_what_a_foreign_server_does_wrong_costs_its_query(trials: Trials) -> None:
    """An error, an answer that can't be read, and a result without a source: each is said, and none ends the trial."""
    system = {
        "kind": "mcp",
        "tool": "find",
        "query": "text",
        "limit": "n",
        "workspace": "space",
        "at": "when",
        "results": r"(?m)^\d+\. (?:\?|(?P<source>\S+) (?P<score>\S+))$",
        "empty": "^Nothing found",
    }
    asked = [
        {"id": "good", "text": "good", "workspace": "", "at_s": None},
        {"id": "fails", "text": "fail", "workspace": "", "at_s": None},
        {"id": "none", "text": "none", "workspace": "harbour", "at_s": 0},
        {"id": "odd", "text": "odd", "workspace": "", "at_s": None},
    ]
    found = trials.answers(system, queries=asked, servers={"theirs": THEIRS}, mcp_tools=["mcp__theirs__find"])
    first, second, third = found["good"].found
    assert isinstance(second, UnmappedResult)
    assert [getattr(result, "source", None) for result in (first, third)] == ["a.md", "b.md"]
    assert found["good"].unmapped == 1
    assert found["fails"].error == "the tool answered an error: the index is broken"
    assert (found["none"].found, found["none"].error) == ((), "")
    assert found["odd"].error == "the answer holds no result, and doesn't say that there is none"


def test_a_server_that_does_not_start_is_said(trials: Trials) -> None:
    """In the start event, and with the exit code."""
    system = {"kind": "mcp", "tool": "find", "query": "text", "results": r"(?P<source>\S+)"}
    broken = {"command": "python3", "args": ["-c", "raise SystemExit(3)"], "env": {"PATH": "/usr/bin:/bin"}}
    code, out, err = trials.run(system, servers={"theirs": broken}, mcp_tools=["mcp__theirs__find"])
    start = start_of(out)
    assert code == 1
    assert start is not None
    assert [(server.name, server.status) for server in start.ready.servers] == [("theirs", "failed")]
    assert err == "retrieval: the server theirs didn't connect\n"


def test_a_sidecar_without_the_collection_is_said(trials: Trials) -> None:
    """One line, no traceback, exit code 1."""
    code, out, err = trials.run({"kind": "bm25"}, collection="other")
    assert (code, out) == (1, b"")
    assert err.startswith("retrieval: the sidecar answered 404: ")
    assert err.count("\n") == 1


def test_what_a_trial_ran_with_is_said(trials: Trials) -> None:
    """Versions of everything that a ranking depends on, and the sidecar's own name."""
    start = start_of(trials.output("dense"))
    assert start is not None
    assert (start.system, start.threads, start.depth, start.queries) == ("dense", 1, DEPTH, len(QUERIES))
    assert start.versions["qdrant-client"] == "1.20.0"
    assert start.versions["onnxruntime"] == "1.32.0"
    assert start.sidecar_title
    assert (
        contained(trials, ["python3", "/opt/pairbench/retrieval/main.py", "--version"])[1]
        == b"1+qdrant-client-1.20.0\n"
    )


def test_a_wrong_launch_is_refused(trials: Trials) -> None:
    """Exit code 2, before anything is asked."""
    code, out, err = trials.run({"kind": "magic"})
    assert (code, out) == (2, b"")
    assert err.startswith("retrieval: no system is called 'magic'")
