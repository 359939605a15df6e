"""What does a query cost in a trial? Beside the same embedding and the same search in one process, and the bare model.

    python benchmarks/retrieval_query.py --model DIR [--passages N] [--rounds N] [--out FILE]

The query path is the program's own code, with the sidecar in a process of its own as in a pod; the bare one embeds with
the same model and searches the engine without HTTP, client library or ranking. Both answer the same queries by turns,
so that whatever else the machine does meets both; CPU time, of both processes, is told besides, since a busy machine
adds its waiting to whoever talks to another process. Embedding is held against a loop of tokenizer and model that
makes no vector of what it gets. Exit code 1: a bound doesn't hold. DIR holds `model.onnx` and `tokenizer.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
SIDECAR = ROOT / "images/qdrant/sidecar/main.py"
# Beside this file is a module with the name of a package of the image.
sys.path = [place for place in sys.path if Path(place).resolve() != Path(__file__).resolve().parent]
sys.path[:0] = [str(ROOT / "images/trial"), str(ROOT / "images/qdrant")]

# Of the Qdrant client these run its REST interface alone; whoever wants all of it in this process imports it before.
import httpx  # noqa: E402
import numpy as np  # noqa: E402
import qdrant_edge as edge  # noqa: E402
from memory.embedding import TOKEN_LIMIT, MiniLM  # noqa: E402
from onnxruntime import GraphOptimizationLevel, InferenceSession, SessionOptions  # noqa: E402
from retrieval.launch import Launch, Own, Query  # noqa: E402
from retrieval.own import Searching  # noqa: E402
from retrieval.sidecar import Sidecar  # noqa: E402
from sidecar.collection import Collection  # noqa: E402
from sidecar.creation import read_creation  # noqa: E402
from sidecar.reading import Node  # noqa: E402
from tokenizers import Tokenizer  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PASSAGES = 10_000
DIMENSION = 384
ROUNDS = 4
DEPTHS = (10, 100)
MOST_RATIO = 1.3
LEAST_THROUGHPUT = 0.95
BATCH = 200
WORDS = (
    "how does the header parser treat lines that are folded, who may delete a note of another workspace, what limits "
    "the rate of uploads to the service, why was the migration of the archive postponed until march, where are tokens "
    "kept when a session ends, which of the two caches is asked first, when does a lease of the harbour expire"
)
QUERIES = [f"{text.strip()} {number}" for number in range(4) for text in WORDS.split(",")]
# Passages of a corpus: some short, most of the length that a splitter makes.
TEXTS = [(WORDS + " ") * (1 + number % 3) for number in range(12)]


def vectors(count: int) -> Any:
    """Unit vectors in all directions, float32."""
    found = np.random.default_rng(1).normal(size=(count, DIMENSION)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


@contextmanager
def started_sidecar(folder: str, stored: Any) -> Iterator[tuple[str, int]]:
    """Address and process of a sidecar that holds the vectors."""
    log = Path(folder, "sidecar.log")
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, str(SIDECAR), "serve", "--storage", f"{folder}/storage", "--port", "0"], stdout=out
        )
        try:
            while b"\n" not in log.read_bytes():
                assert process.poll() is None, "the sidecar ended"
            url = f"http://127.0.0.1:{json.loads(log.read_bytes().splitlines()[0])['port']}"
            fill(url, stored)
            yield url, process.pid
        finally:
            process.kill()
            process.wait()


def fill(url: str, stored: Any) -> None:
    with httpx.Client(base_url=url, timeout=60) as client:
        config = {"vectors": {"size": DIMENSION, "distance": "Cosine"}}
        client.put("/collections/memory", json=config).raise_for_status()
        for start in range(0, len(stored), BATCH):
            points = [
                {"id": start + at, "vector": vector.tolist(), "payload": {"source": f"{at}.md", "text": "word " * 150}}
                for at, vector in enumerate(stored[start : start + BATCH])
            ]
            client.put("/collections/memory/points?wait=true", json={"points": points}).raise_for_status()


def engine(folder: str, stored: Any) -> Callable[[list[float], int], int]:
    """A search of the same vectors by the engine in this process; it returns how many points it found."""
    config = {"vectors": {"size": DIMENSION, "distance": "Cosine"}}
    collection = Collection.create(f"{folder}/bare", read_creation(Node(config, ""), with_log=False))
    for start in range(0, len(stored), BATCH):
        points = [
            edge.Point(start + at, vector.tolist(), {"source": f"{at}.md", "text": "word " * 150})
            for at, vector in enumerate(stored[start : start + BATCH])
        ]
        collection.update(edge.UpdateOperation.upsert_points(points))

    def search(vector: list[float], limit: int) -> int:
        request = edge.QueryRequest(
            query=edge.Query.Nearest(vector),
            limit=limit,
            offset=0,
            params=edge.SearchParams(exact=True),
            with_payload=False,
            with_vector=False,
        )
        return len(collection.query(request))

    return search


def paths(folder: str, stored: Any, rounds: int, model_dir: str) -> dict[str, Any]:
    """Milliseconds of a query by either path, at each depth."""
    model, search = MiniLM(model_dir, threads=1), engine(folder, stored)
    found: dict[str, Any] = {}
    with started_sidecar(folder, stored) as (url, pid):
        for depth in DEPTHS:
            own = Own("dense", None, frozenset({"workspace", "status", "time"}), is_exact=True, rrf_k=60)
            launch = Launch(own, {}, (), depth, 1, 0, url, "memory", ())
            system = Searching(launch, own, Sidecar(url, "memory", own.keeps))
            taken: dict[str, list[float]] = {"path": [], "bare": [], "embedding": []}
            cpu = {"path": 0.0, "bare": 0.0}
            for number in range(rounds + 1):
                # The first round warms both up.
                if number == 1:
                    cpu = {"path": -cpu_s(pid), "bare": 0.0}
                for text in QUERIES:
                    began, began_cpu = time.perf_counter(), time.process_time()
                    answer = _done(system.ask(Query("q", text, "", None)))
                    path, path_cpu = time.perf_counter(), time.process_time()
                    vector = model.embed(text).tolist()
                    embedded = time.perf_counter()
                    assert search(vector, depth) == len(answer.results) == depth
                    bare, bare_cpu = time.perf_counter(), time.process_time()
                    if number:
                        taken["path"].append(path - began)
                        taken["bare"].append(bare - path)
                        taken["embedding"].append(embedded - path)
                        cpu["path"] += path_cpu - began_cpu
                        cpu["bare"] += bare_cpu - path_cpu
            cpu["path"] += cpu_s(pid)
            row = {f"{name}_p50_ms": 1000 * statistics.median(values) for name, values in taken.items()}
            row["ratio"], row["cpu_ratio"] = row["path_p50_ms"] / row["bare_p50_ms"], cpu["path"] / cpu["bare"]
            found[str(depth)] = row
    return found


def cpu_s(pid: int) -> float:
    """CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _done(coroutine: Any) -> Any:
    """What a coroutine returns that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value
    raise AssertionError("it waits")


def throughput(rounds: int, model_dir: str) -> dict[str, float]:
    """Texts a second of our embedding, and of the model alone on the same tokens."""
    model, options = MiniLM(model_dir, threads=1), SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
    session = InferenceSession(f"{model_dir}/model.onnx", options, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(f"{model_dir}/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.enable_truncation(TOKEN_LIMIT)

    def bare(text: str) -> None:
        ids = np.array([tokenizer.encode(text).ids], dtype=np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        session.run(["last_hidden_state"], inputs)

    taken: dict[str, list[float]] = {"ours": [], "bare": []}
    for number in range(rounds + 1):
        for text in TEXTS:
            for name, embed in (("ours", model.embed), ("bare", bare)):
                began = time.perf_counter()
                embed(text)
                if number:
                    taken[name].append(time.perf_counter() - began)
    # The middle one of each text's times: a text that met another process says nothing of either loop.
    sums = {
        name: sum(statistics.median(values[at :: len(TEXTS)]) for at in range(len(TEXTS)))
        for name, values in taken.items()
    }
    rates = {f"{name}_texts_a_second": len(TEXTS) / seconds for name, seconds in sums.items()}
    return rates | {"share": sums["bare"] / sums["ours"]}


def verdicts(figures: dict[str, Any]) -> dict[str, bool]:
    """Each bound and whether it holds."""
    found = {
        f"query path at depth {depth} <= {MOST_RATIO} x bare": row["ratio"] <= MOST_RATIO
        for depth, row in figures["query"].items()
    }
    return found | {"embedding >= 95 % of the bare loop": figures["embedding"]["share"] >= LEAST_THROUGHPUT}


def measure(model_dir: str, passages: int, rounds: int) -> dict[str, Any]:
    """All figures."""
    os.environ["PAIRBENCH_MODEL_DIR"] = model_dir
    with tempfile.TemporaryDirectory(prefix="retrieval-query-") as folder:
        query = paths(folder, vectors(passages), rounds, model_dir)
    return {"passages": passages, "query": query, "embedding": throughput(rounds, model_dir)}


def main() -> int:
    """1 when a bound doesn't hold."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", required=True, help="folder of model.onnx and tokenizer.json")
    parser.add_argument("--passages", type=int, default=PASSAGES)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"of {len(QUERIES)} queries and {len(TEXTS)} texts")
    parser.add_argument("--out", type=Path, help="where figures and verdicts go, as JSON")
    options = parser.parse_args()
    figures = measure(options.model, options.passages, options.rounds)
    held = verdicts(figures)
    for depth, row in figures["query"].items():
        print(f"depth {depth:4}", "  ".join(f"{key} {value:7.3f}" for key, value in row.items()))
    print("embedding ", "  ".join(f"{key} {value:7.3f}" for key, value in figures["embedding"].items()))
    for bound, holds in held.items():
        print("holds " if holds else "BROKEN", bound)
    if options.out:
        options.out.write_text(json.dumps({"figures": figures, "bounds": held}, indent=1) + "\n")
    return 0 if all(held.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
