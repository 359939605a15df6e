"""The retrieval study of ours in real pods: other engines find the same, other tools measure the same, faults show."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import time
from collections import Counter, defaultdict
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import pytrec_eval
from qdrant_client import QdrantClient, models

from runner import wiring
from runner.core.canonical import Digest
from runner.core.passages import read_passages
from runner.core.retrieval.rankings import Ranking
from runner.core.retrieval.scores import RetrievalScore
from runner.measure.retrieval.boundaries import broken
from runner.measure.retrieval.measuring import measure_names
from runner.pipeline.folder import read_run
from runner.plan.batch import Batches, Job
from runner.plan.embedding import Embedder, weigh

if TYPE_CHECKING:
    from collections.abc import Mapping

    import docker

    from runner.core.outcomes import Outcome
    from runner.core.passages import Passage
    from runner.core.plan import PlannedTrial
    from runner.core.retrieval.queries import Query
    from runner.pipeline.folder import Run
    from tests.docker.conftest import Program

ROOT = Path(__file__).resolve().parents[2]
STUDIES = ROOT / "corpora" / "retrieval"
ARMS = ("bm25", "dense", "hybrid", "memory")
SETS = ("h11", "structlog", "teams")
DEPTH = 100
RRF_K = 60
SWAP = 1e-6
"""Results whose scores differ by less may stand in either order."""
OFFICIAL = re.compile(r"^(docker\.io/)?qdrant/qdrant:")
pytestmark = [pytest.mark.docker, pytest.mark.slow]

VECTORS = """
import json, sys
sys.path.insert(0, "/opt/pairbench")
from memory.embedding import MiniLM
from retrieval import bm25
model, words = MiniLM("/opt/model", threads=1), bm25.Words(bm25.english())
with open("/out/queries.jsonl", "w") as out:
    for line in open("/in/queries.jsonl"):
        text = json.loads(line)
        terms = bm25.query_vector(words, text)
        made = {"dense": model.embed(text).tolist(), "indices": list(terms.indices), "values": list(terms.values)}
        out.write(json.dumps(made) + "\\n")
"""


@dataclass
class Silent:
    """Progress that nobody watches."""

    steps: list[str] = field(default_factory=list)

    def step(self, text: str) -> None:
        self.steps.append(text)

    def planned(self, trials: int) -> None: ...

    def trial_started(self, planned: PlannedTrial, attempt: int) -> None: ...

    def trial_ended(self, planned: PlannedTrial, attempt: int, outcome: Outcome, reason: str) -> None: ...


@dataclass(frozen=True)
class Corpus:
    """One corpus with its vectors, and what is asked of it."""

    passages: Mapping[int, Passage]
    dense: Mapping[int, list[float]]
    sparse: Mapping[int, dict[int, float]]
    queries: Mapping[str, Query]
    asked: Mapping[str, dict[str, Any]]
    """Query -> its vectors."""

    def visible(self, query: Query) -> list[int]:
        return [number for number, passage in self.passages.items() if not list(broken(query, passage))]


@pytest.fixture(scope="module")
def ran(pairbench: Program) -> Run:
    """The study of ours, run, verified and read back."""
    done = pairbench("run", STUDIES / "study.toml")
    assert done.returncode == 0, done.stderr
    assert pairbench.json("verify", "latest")["holds"]
    return read_run(wiring.make_files(), pairbench.run)


@pytest.fixture(scope="module")
def rankings(ran: Run) -> dict[tuple[str, str, str], Ranking]:
    """(Set, arm, query) -> the ranking of the first repetition."""
    lines = Ranking.from_lines((ran.folder / "rankings.jsonl").read_bytes(), "rankings.jsonl")
    first = {planned.trial: planned for planned in ran.plan.trials if planned.repetition == 1}
    return {(line.task, first[line.trial].arm, line.query): line for line in lines if line.trial in first}


@pytest.fixture(scope="module")
def corpora_with_vectors(ran: Run, engine_address: str) -> dict[str, Corpus]:
    """Vectors of every passage and query, made in containers of the images that the run was locked to."""
    previous, os.environ["DOCKER_HOST"] = os.environ.get("DOCKER_HOST"), engine_address
    try:
        world = wiring.make_world(Silent())
        batches = Batches(world.engine(), world.owner.labels("rankings"), f"pairbench-rankings-{os.getpid()}")
        images = {image.name: image.config_digest for image in ran.lock.images}
        embedder = Embedder(batches, world.vectors, world.slots, world.progress, Digest(images["trial"]), 2, 2)
        return {task: _with_vectors(ran, task, batches, embedder, images["retrieval"]) for task in SETS}
    finally:
        del os.environ["DOCKER_HOST"]
        if previous is not None:
            os.environ["DOCKER_HOST"] = previous


def _with_vectors(ran: Run, task: str, batches: Batches, embedder: Embedder, image: Any) -> Corpus:
    queries = ran.query_sets[task]
    name = f"inputs/passages/{queries.corpus}.jsonl"
    passages = read_passages((ran.folder / name).read_bytes(), name)
    stored = embedder.stored(embedder.embed(queries.corpus, passages))
    weights = weigh(batches, image, passages)
    texts = "".join(json.dumps(query.text) + "\n" for query in queries.queries).encode()
    job = Job("ask", str(image), ("python3", "-c", VECTORS), memory_bytes=1 << 30, cpus=2)
    made = batches.run(job, [{"queries.jsonl": texts}]).files["queries.jsonl"].splitlines()
    return Corpus(
        passages={passage.id: passage for passage in passages},
        dense={
            passage.id: np.frombuffer(vector, "<f4").tolist() for passage, vector in zip(passages, stored, strict=True)
        },
        sparse={
            passage.id: dict(zip(one.indices, one.values, strict=True))
            for passage, one in zip(passages, weights, strict=True)
        },
        queries={query.id: query for query in queries.queries},
        asked=dict(zip((query.id for query in queries.queries), map(json.loads, made), strict=True)),
    )


def cosines(corpus: Corpus, name: str) -> dict[int, float]:
    """Every visible passage compared with the query, in float64."""
    visible = corpus.visible(corpus.queries[name])
    matrix = np.array([corpus.dense[number] for number in visible], dtype=np.float64)
    asked = np.array(corpus.asked[name]["dense"], dtype=np.float64)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    return dict(zip(visible, (matrix @ (asked / np.linalg.norm(asked))).tolist(), strict=True))


def textbook(corpus: Corpus, name: str) -> dict[int, float]:
    """Sums of weight x ln(1 + (N - n + 0.5) / (n + 0.5)) over the query's terms, of visible passages with any."""
    have = Counter(term for vector in corpus.sparse.values() for term in vector)
    size = sum(bool(vector) for vector in corpus.sparse.values())
    asked = dict(zip(corpus.asked[name]["indices"], corpus.asked[name]["values"], strict=True))
    rare = {term: math.log(1 + (size - have[term] + 0.5) / (have[term] + 0.5)) for term in asked}
    found = {
        number: sum(
            corpus.sparse[number][term] * weight * rare[term]
            for term, weight in asked.items()
            if term in corpus.sparse[number]
        )
        for number in corpus.visible(corpus.queries[name])
    }
    return {number: score for number, score in found.items() if score}


def agrees(found: list[int], expected: Mapping[int, float], scale: float, place: tuple[str, ...]) -> None:
    """`found` are the best of `expected`, in an order that only swaps what is nearly equal; scores of `scale`."""
    assert len(found) == len(set(found)) == min(DEPTH, len(expected)), place
    values = [expected[number] for number in found]
    lowest = math.inf
    for number, value in zip(found, values, strict=True):
        assert value - lowest < SWAP * scale, (*place, number)
        lowest = min(lowest, value)
    left = [value for number, value in expected.items() if number not in set(found)]
    assert not left or max(left) - lowest < SWAP * scale, place


def scaled(expected: Mapping[int, float]) -> float:
    """Scores of BM25 are some tens: float32 has as many digits of them as of a cosine."""
    return max(1.0, max(expected.values(), default=0.0))


def in_memory(client: QdrantClient, corpus: Corpus) -> None:
    """The corpus is a collection of `client`, with both vectors."""
    client.create_collection(
        "memory",
        vectors_config=models.VectorParams(size=384, distance=models.Distance.COSINE),
        sparse_vectors_config={"bm25": models.SparseVectorParams(modifier=models.Modifier.IDF)},
    )
    points = [
        models.PointStruct(
            id=number,
            vector={
                "": corpus.dense[number],
                **(
                    {"bm25": models.SparseVector(indices=list(terms), values=list(terms.values()))}
                    if (terms := corpus.sparse[number])
                    else {}
                ),
            },
            payload={"number": number},
        )
        for number in corpus.passages
    ]
    for start in range(0, len(points), 100):
        client.upsert("memory", points[start : start + 100])


def searched(
    client: QdrantClient, corpus: Corpus, name: str, kind: str, *, is_remote: bool = False
) -> list[tuple[int, float]]:
    """What another engine finds, over-fetched by all there is and cut by the tie rule."""
    asked = corpus.asked[name]
    if kind == "bm25" and not asked["indices"]:
        return []
    query = asked["dense"]
    if kind == "bm25":
        query = models.SparseVector(indices=asked["indices"], values=asked["values"])
    hits = client.query_points(
        "memory",
        query=query,
        using="bm25" if kind == "bm25" else None,
        query_filter=models.Filter(must=[models.HasIdCondition(has_id=list(corpus.visible(corpus.queries[name])))]),
        # The client's own store compares everything, and says so when it is asked to.
        search_params=models.SearchParams(exact=True) if is_remote else None,
        limit=len(corpus.passages),
    ).points
    found = sorted((-round(hit.score * 1e6), int(hit.id)) for hit in hits)
    return [(number, -score / 1e6) for score, number in found[:DEPTH]]


@pytest.mark.parametrize("kind", ["dense", "bm25"])
def test_the_sidecar_agrees_with_numpy_and_the_client_s_own_store(
    kind: str, corpora_with_vectors: dict[str, Corpus], rankings: dict[tuple[str, str, str], Ranking]
) -> None:
    """On every ranking of the real corpora, up to swaps of results whose scores differ by less than a millionth."""
    for task, corpus in corpora_with_vectors.items():
        with closing(QdrantClient(":memory:")) as client:
            in_memory(client, corpus)
            for name in corpus.queries:
                expected = cosines(corpus, name) if kind == "dense" else textbook(corpus, name)
                ours = rankings[task, kind, name]
                agrees(list(ours.passages), expected, scaled(expected), (task, name, "sidecar"))
                theirs = searched(client, corpus, name, kind)
                agrees([number for number, _ in theirs], expected, scaled(expected), (task, name, "memory"))
                for number, score in zip(ours.passages, ours.scores_e6, strict=True):
                    assert abs(score / 1e6 - expected[number]) < 2 * SWAP * scaled(expected), (task, name, number)


@pytest.mark.official
def test_the_official_engine_agrees_too(
    engine: docker.DockerClient,
    published_network: str,
    corpora_with_vectors: dict[str, Corpus],
    rankings: dict[tuple[str, str, str], Ranking],
) -> None:
    """Where the official image is in the engine; else this says that it wasn't run."""
    tags = sorted(tag for image in engine.images.list() for tag in image.tags if OFFICIAL.match(tag))
    container = engine.containers.run(
        tags[-1], detach=True, network=published_network, ports={"6333/tcp": ("127.0.0.1", None)}
    )
    try:
        container.reload()
        url = f"http://127.0.0.1:{container.ports['6333/tcp'][0]['HostPort']}"
        for task, corpus in corpora_with_vectors.items():
            with closing(_answering(url)) as client:
                in_memory(client, corpus)
                for name in corpus.queries:
                    for kind, expected in (("dense", cosines(corpus, name)), ("bm25", textbook(corpus, name))):
                        theirs = searched(client, corpus, name, kind, is_remote=True)
                        agrees([number for number, _ in theirs], expected, scaled(expected), (task, name, kind))
                        ours = rankings[task, kind, name]
                        agrees(list(ours.passages), expected, scaled(expected), (task, name, kind))
                client.delete_collection("memory")
    finally:
        container.remove(force=True, v=True)


def _answering(url: str) -> QdrantClient:
    """A client of a server that has come up; asked again until its deadline."""
    deadline = time.monotonic() + 60
    while True:
        client = QdrantClient(url=url)
        try:
            client.get_collections()
        except Exception:
            client.close()
            if time.monotonic() > deadline:
                raise
        else:
            return client


def test_hybrid_rankings_are_the_fusion_of_both_lists(rankings: dict[tuple[str, str, str], Ranking]) -> None:
    """Each passage scores 1 / (k + rank) in each list; equal scores may stand either way, at a list's end too."""
    for task, arm, name in rankings:
        if arm != "hybrid":
            continue
        low: dict[int, float] = defaultdict(float)
        high: dict[int, float] = defaultdict(float)
        unlisted = 0.0
        for kind in ("dense", "bm25"):
            listed = rankings[task, kind, name]
            for number, score in zip(listed.passages, listed.scores_e6, strict=True):
                above = sum(other > score + 1 for other in listed.scores_e6)
                level = sum(abs(other - score) <= 1 for other in listed.scores_e6)
                high[number] += 1 / (RRF_K + above)
                is_last = len(listed.passages) == DEPTH and score <= listed.scores_e6[-1] + 1
                low[number] += 0 if is_last else 1 / (RRF_K + above + level - 1)
            if len(listed.passages) == DEPTH:
                unlisted += 1 / (RRF_K + sum(score > listed.scores_e6[-1] + 1 for score in listed.scores_e6))
        fused = rankings[task, "hybrid", name]
        for number, score in zip(fused.passages, fused.scores_e6, strict=True):
            is_single = sum(number in rankings[task, kind, name].passages for kind in ("dense", "bm25")) < 2
            most = high[number] + (unlisted if is_single else 0)
            assert low[number] - 2e-6 <= score / 1e6 <= most + 2e-6, (task, name, number)
        assert len(fused.passages) == min(DEPTH, len(low)), (task, name)


@pytest.mark.parametrize("task", SETS)
def test_tools_of_the_field_come_to_our_figures(task: str, ran: Run) -> None:
    """`ir_measures` on the command line and `pytrec_eval`, from the run's own files, to 1e-9."""
    lines = RetrievalScore.from_lines((ran.folder / "retrieval.jsonl").read_bytes(), "retrieval.jsonl")
    ours: dict[str, dict[str, dict[str, int]]] = defaultdict(dict)
    for line in lines:
        if line.task == task and line.measures_e9:
            ours[line.trial][line.query] = line.measures_e9
    names = measure_names(ran.query_sets[task].ks)
    qrels = ran.folder / "retrieval" / f"{task}.qrels"
    with qrels.open() as file:
        judged = pytrec_eval.parse_qrel(file)
    for arm in ARMS:
        trial = f"{task}.r1.{arm}"
        scores = ours[trial]
        assert set(scores) == set(judged)
        run = ran.folder / "retrieval" / f"{trial}.run"
        said = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "ir_measures", "--by_query", "--places", "12", qrels, run, *names],
            capture_output=True,
            check=True,
            encoding="utf-8",
            env={"PYTHONUTF8": "1"},
        ).stdout
        theirs = {(query, name): float(value) for query, name, value in (row.split("\t") for row in said.splitlines())}
        for name in names:
            for query, values in scores.items():
                assert abs(values[name] / 1e9 - theirs[query, name]) <= 1e-9, (trial, query, name)
            mean = sum(values[name] for values in scores.values()) / len(scores) / 1e9
            assert abs(mean - theirs["all", name]) <= 1e-9, (trial, name)
        with run.open() as file:
            found = pytrec_eval.RelevanceEvaluator(judged, {"map", "recip_rank", "ndcg_cut.10", "recall.10"}).evaluate(
                pytrec_eval.parse_run(file)
            )
        pairs = {"map": "AP", "recip_rank": "RR", "ndcg_cut_10": "nDCG@10", "recall_10": "R@10"}
        for query, said_of in found.items():
            for theirs_name, name in pairs.items():
                assert abs(said_of[theirs_name] - scores[query][name] / 1e9) <= 1e-9, (trial, query, name)


def test_systems_differ_on_paraphrases_as_they_should(ran: Run) -> None:
    """Meaning finds what words don't; where words match, words are enough; a fusion lies between."""
    summary = json.loads((ran.folder / "summary.json").read_bytes())["retrieval"]
    found = {
        (item["scope"]["kind"], item["arm"], measure["measure"]): measure["mean_e9"] / 1e9
        for item in summary["totals"]
        if not item["scope"]["task"] and not item["scope"]["split"]
        for measure in item["totals"]["measures"]
        if item["totals"]["queries"]
    }
    paraphrased = {arm: found["paraphrase", arm, "nDCG@10"] for arm in ARMS}
    assert paraphrased["dense"] > paraphrased["hybrid"] > paraphrased["bm25"] + 0.1
    assert found["literal", "bm25", "nDCG@10"] > found["literal", "dense", "nDCG@10"]
    checks = {item["name"]: item["passed"] for item in json.loads((ran.folder / "summary.json").read_bytes())["checks"]}
    # Our own memory asks without a workspace and a time: what it may not return is counted, and told.
    assert not checks["boundaries kept"]
    broken_by = {item["arm"] for item in summary["totals"] if item["totals"]["violations"]}
    assert broken_by == {"memory"}


def test_another_run_with_two_threads_gives_the_same_bytes(ran: Run, pairbench: Program, corpora: str) -> None:
    """Nothing of a ranking depends on when, or with how many threads, it was made."""
    text = (STUDIES / "study.toml").read_text("utf-8")
    text = text.replace("depth = 100", "depth = 100\nthreads = 2")
    for name, place in (("teams", "retrieval/teams"), ("h11", "h11"), ("structlog", "structlog")):
        text = re.sub(rf'(?m)^{name} = ".*"$', f'{name} = "{corpora}/{place}/corpus.toml"', text)
    text = text.replace('queries = "sets/', f'queries = "{corpora}/retrieval/sets/')
    (pairbench.folder / "two-threads.toml").write_text(text, "utf-8")
    first = (ran.folder / "rankings.jsonl").read_bytes()
    done = pairbench("run", pairbench.folder / "two-threads.toml")
    assert done.returncode == 0, done.stderr
    assert first.count(b"\n") == 4 * 168
    assert (pairbench.run / "rankings.jsonl").read_bytes() == first


def test_three_boundary_faults_are_found_and_fail_their_gates(pairbench: Program) -> None:
    """Exit 1; the system that keeps every boundary passes its own gate."""
    done = pairbench("run", STUDIES / "boundaries.toml", "--json")
    assert done.returncode == 1, done.stderr
    summary = json.loads(done.stdout)
    assert {gate["name"]: gate["verdict"] for gate in summary["gates"]} == {
        "dense-keeps-all": "passed",
        "no-foreign-workspace": "failed",
        "nothing-deleted": "failed",
        "nothing-out-of-time": "failed",
    }
    kinds = {
        item["arm"]: set(item["totals"]["violations"])
        for item in summary["retrieval"]["totals"]
        if item["scope"] == {"kind": "", "split": "", "task": ""}
    }
    assert kinds == {
        "dense": set(),
        "every-workspace": {"foreign_workspace"} | (kinds["every-workspace"] & {"deleted", "expired", "not_yet_known"}),
        "every-status": {"deleted"},
        "every-time": {"expired", "not_yet_known"},
    }


def test_tables_for_data_frames_hold_every_ranking(ran: Run, pairbench: Program) -> None:
    """As many rows as results; read back by whatever reads Parquet."""
    from pyarrow import parquet  # noqa: PLC0415 - only this test needs it

    done = pairbench("export", ran.folder, "--parquet", pairbench.folder / "tables")
    assert done.returncode == 0, done.stderr
    tables = {
        name: parquet.read_table(pairbench.folder / "tables" / f"{name}.parquet")
        for name in ("scores", "rankings", "latencies")
    }
    lines = list(Ranking.from_lines((ran.folder / "rankings.jsonl").read_bytes(), "rankings.jsonl"))
    assert tables["rankings"].num_rows == sum(line.results for line in lines)
    assert tables["scores"].num_rows == tables["latencies"].num_rows == len(lines) == 4 * 168
