"""What does an index of many passages cost, and is its search as fast as the engine's own?

Passages with ready-made vectors are indexed by the program's own code, in containers, with and without sparse vectors:
time, and the most memory that the runner and its containers held (each at most 1 GB). Then the index is searched, query
by query in turn, through the sidecar (HTTP, a kept connection; and `qdrant-client`) and through the engine in this
process: the sidecar's median must be at most 1.5 times the engine's. Exit code 1: a bound doesn't hold.

    .venv/bin/python benchmarks/indexing.py [--passages 100000] [--queries 200] [--dense-only] [--json]
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import docker
import numpy as np
import requests
from qdrant_client import QdrantClient, models
from qdrant_edge import EdgeShard, Query, QueryRequest, SearchParams, SparseVector

from runner import wiring
from runner.adapters.slots import HostSlots
from runner.adapters.vector_cache import VectorCache
from runner.core.canonical import digest_of, parse_json
from runner.core.owner import RUN
from runner.core.passages import Passage
from runner.execute.schedule import remove_run
from runner.pipeline import imaging
from runner.plan.batch import Batches, Job
from runner.plan.corpora import Corpus
from runner.plan.embedding import DIMENSION, embedded_text
from runner.plan.index import COLLECTION, SPARSE, Images, Indexer

ROOT = Path(__file__).resolve().parent.parent
SIDECAR = ROOT / "images" / "qdrant" / "sidecar" / "main.py"
LIMIT_BYTES = 1_000_000_000
SEARCH_LIMIT = 1.5
RUN_NAME = "indexing"
WORDS = 30_000
WORDS_A_PASSAGE = 120
CLUSTERS = 1000
TOP = 10
GROUP = 2000


class Quiet:
    """Progress that nobody looks at."""

    def __init__(self):
        self.steps = []

    def step(self, text):
        self.steps.append((time.monotonic(), text))
        print(text, file=sys.stderr)


def corpus_of(count):
    """Passages whose words are as unevenly spread as those of a language."""
    random = np.random.default_rng(1)
    made = []
    for number in range(1, count + 1):
        ranks = np.minimum(random.zipf(1.3, WORDS_A_PASSAGE), WORDS)
        text = " ".join(f"w{rank}" for rank in ranks)
        made.append(Passage(number, f"d{number}.txt", 0, len(text), f"d{number}.txt", text))
    return Corpus("synthetic", {}, tuple(made))


def vectors_of(count, seed):
    """Unit vectors around centres, as those of texts are."""
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(0).standard_normal((CLUSTERS, DIMENSION), dtype=np.float32)
    for start in range(0, count, GROUP):
        size = min(GROUP, count - start)
        found = centres[random.integers(0, CLUSTERS, size)]
        found = found + 0.5 * random.standard_normal((size, DIMENSION), dtype=np.float32)
        yield start, (found / np.linalg.norm(found, axis=1, keepdims=True)).astype("<f4")


def fill(store, batches, image, passages):
    """The store has a vector of every passage, under the key that the embedder would keep it by."""
    command = ("python3", "/opt/pairbench/memory/embed.py", "identity")
    said = batches.run(Job("embed", image, command, memory_bytes=512 << 20, cpus=1)).stdout
    identity = parse_json(said, "identity")
    for start, vectors in vectors_of(len(passages), 2):
        found = zip(passages[start : start + len(vectors)], vectors, strict=True)
        store.put({digest_of([identity, embedded_text(passage)]): vector.tobytes() for passage, vector in found})


@contextlib.contextmanager
def watched(api, peaks):
    """While the context lasts, `peaks` holds the most resident memory of our containers, mapped files included."""
    over = threading.Event()

    def watch():
        while not over.wait(0.2):
            with contextlib.suppress(docker.errors.APIError, requests.exceptions.RequestException):
                for item in api.containers(filters={"label": f"{RUN}={RUN_NAME}"}):
                    listed = api.top(item["Id"], ps_args="-o pid,rss")
                    # One that just ended has none.
                    rows = listed["Processes"] or ()
                    used = 1024 * sum(int(row[listed["Titles"].index("RSS")]) for row in rows)
                    name = item["Names"][0].rpartition("-")[2]
                    peaks[name] = max(peaks.get(name, 0), used)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def index_part(given, folder):
    """Make the index in this process, and say what it took; the archive stays in `folder`."""
    quiet = Quiet()
    world = wiring.make_world(quiet)
    engine = world.engine()
    built = {image.name: image for image in imaging.build(world, ("qdrant", "retrieval", "trial"))}
    imaging.load(world, engine, tuple(built.values()))
    labels = world.owner.labels(RUN_NAME)
    prefix = f"pairbench-{RUN_NAME}"
    images = Images(
        trial=built["trial"].config_digest,
        sidecar=built["qdrant"].config_digest,
        retrieval=None if given.dense_only else built["retrieval"].config_digest,
    )
    store, peaks = VectorCache(folder / "vectors.sqlite"), {}
    indexer = Indexer(
        engine=engine,
        files=world.files,
        vectors=store,
        slots=HostSlots(folder / "slots"),
        progress=quiet,
        cache=folder,
        images=images,
        labels=labels,
        prefix=prefix,
    )
    api = docker.APIClient(base_url=engine.info().address)
    try:
        corpus = corpus_of(given.passages)
        fill(store, Batches(engine, labels, prefix), str(images.trial), corpus.passages)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        started = time.monotonic()
        with watched(api, peaks):
            index = indexer.index(corpus)
        ended = time.monotonic()
        (folder / "index.tar").write_bytes(index.archive)
        size = len(index.archive)
        del index
        kept_started = time.monotonic()
        indexer.index(corpus)
        kept = time.monotonic() - kept_started
    finally:
        remove_run(engine, RUN_NAME)
        api.close()
    starts = [at for at, _ in quiet.steps if at >= started]
    return {
        "passages": given.passages,
        "seconds": round(ended - started, 2),
        "building_seconds": round(ended - starts[-1], 2),
        "kept_seconds": round(kept, 3),
        "archive_bytes": size,
        "runner_bytes_before": before,
        "runner_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "container_bytes": peaks,
    }


@contextlib.contextmanager
def served(folder):
    """The sidecar with the index, as a process; yields its port and what it said when it was ready."""
    command = [sys.executable, str(SIDECAR)]
    index = folder / "index"
    subprocess.run(
        [*command, "unpack", "--archive", str(folder / "index.tar"), "--into", str(index)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    serve = [*command, "serve", "--storage", str(folder / "storage"), "--index", str(index), "--port", "0"]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(serve, stdout=subprocess.PIPE) as process,
    ):
        try:
            ready = json.loads(process.stdout.readline())
            # Its log goes on: a pipe that nobody reads would stop it.
            drain = threading.Thread(target=shutil.copyfileobj, args=(process.stdout, log))
            drain.start()
            yield ready
            process.send_signal(signal.SIGTERM)
            process.wait()
            drain.join()
        finally:
            process.kill()


def asked(connection, body):
    connection.request("POST", f"/collections/{COLLECTION}/points/query", body, {"content-type": "application/json"})
    return json.loads(connection.getresponse().read())["result"]["points"]


def milliseconds(call):
    started = time.perf_counter()
    found = call()
    return (time.perf_counter() - started) * 1000, found


def search_part(given, folder):
    """Median and 95th percentile of a query's time, by way of asking; every way finds the same."""
    vectors = np.concatenate([group for _, group in vectors_of(given.queries, 3)])
    random = np.random.default_rng(4)
    terms = [sorted({int(t) for t in random.integers(1, 2**32, 5)}) for _ in vectors]
    times = {}
    with served(folder) as ready:
        shutil.copytree(folder / "index" / "collections" / COLLECTION / "shard", folder / "shard")
        shard = EdgeShard.load(str(folder / "shard"))
        connection = http.client.HTTPConnection("127.0.0.1", ready["port"])
        client = QdrantClient(url=f"http://127.0.0.1:{ready['port']}")
        known = [] if given.dense_only else known_terms(client)
        for number, vector in enumerate(vectors):
            dense = vector.tolist()
            found = {}
            exact = SearchParams(exact=True)

            def engine(query, using=None, exact=exact):
                request = QueryRequest(limit=TOP, query=Query.Nearest(query, using=using), params=exact)
                return [point.id for point in shard.query(request)]

            body = json.dumps({"query": dense, "limit": TOP}).encode()
            ways = {
                "engine": lambda d=dense: engine(d),
                "sidecar": lambda b=body: [point["id"] for point in asked(connection, b)],
                "qdrant-client": lambda d=dense: [
                    p.id for p in client.query_points(COLLECTION, query=d, limit=TOP, with_payload=False).points
                ],
            }
            if known:
                some = sorted({known[(term + number) % len(known)] for term in terms[number]})
                sparse = {"indices": some, "values": [1.0] * len(some)}
                ways |= sparse_ways(connection, client, sparse, dense, engine)
            for name in sorted(ways, key=lambda way: (number + len(way)) % 7):
                spent, found[name] = milliseconds(ways[name])
                times.setdefault(name, []).append(spent)
            assert len({frozenset(found[name]) for name in ("engine", "sidecar", "qdrant-client")}) == 1
        connection.close()
        client.close()
        shard.close()
    return {
        "load_ms": round(ready["load_us"] / 1000, 1),
        "copy_ms": round(ready["copy_us"] / 1000, 1),
        **{
            name: {"p50_ms": round(statistics.median(spent), 3), "p95_ms": round(float(np.percentile(spent, 95)), 3)}
            for name, spent in times.items()
        },
    }


def known_terms(client):
    """Indices of terms that some passages have, the frequent ones more often."""
    records, _ = client.scroll(COLLECTION, limit=200, with_vectors=[SPARSE], with_payload=False)
    return [index for record in records for index in record.vector[SPARSE].indices]


def sparse_ways(connection, client, sparse, dense, engine):
    vector = models.SparseVector(**sparse)
    body = json.dumps({"query": sparse, "using": SPARSE, "limit": TOP}).encode()
    return {
        "engine, sparse": lambda: engine(SparseVector(sparse["indices"], sparse["values"]), SPARSE),
        "sidecar, sparse": lambda: [point["id"] for point in asked(connection, body)],
        "qdrant-client, hybrid": lambda: [
            point.id
            for point in client.query_points(
                COLLECTION,
                prefetch=[
                    models.Prefetch(query=dense, limit=100),
                    models.Prefetch(query=vector, using=SPARSE, limit=100),
                ],
                query=models.RrfQuery(rrf=models.Rrf(k=60)),
                limit=TOP,
                with_payload=False,
            ).points
        ],
    }


def measure(given, folder):
    """Both parts; the first in a process of its own, whose memory is its own."""
    command = [sys.executable, __file__, "--part", str(folder), "--passages", str(given.passages)]
    done = subprocess.run(
        [*command, *(["--dense-only"] if given.dense_only else [])], stdout=subprocess.PIPE, check=True
    )
    indexed = json.loads(done.stdout)
    searched = search_part(given, folder)
    ratio = searched["sidecar"]["p50_ms"] / searched["engine"]["p50_ms"]
    most = max(indexed["runner_bytes"], *indexed["container_bytes"].values())
    return {
        "indexing": indexed,
        "search": searched,
        "sidecar_to_engine": round(ratio, 3),
        "most_bytes": most,
        "passed": ratio <= SEARCH_LIMIT and most <= LIMIT_BYTES,
    }


def show(found):
    indexed, searched = found["indexing"], found["search"]
    print(f"{indexed['passages']} passages with ready-made vectors")
    print(f"{'indexed in':<28} {indexed['seconds']:9.1f} s, of which building {indexed['building_seconds']:.1f} s")
    print(f"{'taken from the cache in':<28} {indexed['kept_seconds']:9.1f} s")
    print(f"{'archive':<28} {indexed['archive_bytes'] / 1e6:9.1f} MB")
    print(f"{'runner, at most':<28} {indexed['runner_bytes'] / 1e6:9.1f} MB")
    for name, size in sorted(indexed["container_bytes"].items()):
        print(f"{f'container {name}, at most':<28} {size / 1e6:9.1f} MB")
    print(f"{'sidecar copies and opens in':<28} {searched['copy_ms'] + searched['load_ms']:9.1f} ms")
    for name, times in searched.items():
        if isinstance(times, dict):
            print(f"{name:<28} {times['p50_ms']:9.2f} ms, p95 {times['p95_ms']:.2f} ms")
    print(f"sidecar / engine {found['sidecar_to_engine']} (at most {SEARCH_LIMIT})")
    print("within the bounds" if found["passed"] else "a bound doesn't hold")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--dense-only", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--part", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part is not None:
        json.dump(index_part(given, given.part), sys.stdout)
        return
    with tempfile.TemporaryDirectory(prefix="pairbench-indexing-") as folder:
        found = measure(given, Path(folder))
    if given.json:
        json.dump(found, sys.stdout, indent=2)
        print()
    else:
        show(found)
    sys.exit(0 if found["passed"] else 1)


if __name__ == "__main__":
    main()
