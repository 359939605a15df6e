"""Everything that is promised of retrieval's speed, measured and put into one table.

    .venv/bin/python benchmarks/retrieval.py [--quick] [--model DIR] [--json]

Runs the benchmarks of scoring (`retrieval_scoring.py`), of the query path and of embedding (`retrieval_query.py`), and
of indexing (`indexing.py`), one after the other: on two CPUs the last of them takes minutes, and needs the container
engine. `--quick` takes sizes at which the table is about the program's being whole, and not about its bounds. The model
is that of the images, which a build keeps in `.cache/model`. Exit 1 when a bound doesn't hold.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
MODELS = HERE.parent / ".cache" / "model"
MEMORY_LIMIT_BYTES = 1_000_000_000
QUICK = {
    "retrieval_scoring.py": ["--queries", "200", "--results", "100"],
    "retrieval_query.py": ["--passages", "500", "--rounds", "1"],
    "indexing.py": ["--passages", "500", "--queries", "10"],
}


@dataclass(frozen=True)
class Row:
    """One promise."""

    what: str
    ours: str
    beside: str
    figure: float
    bound: str
    holds: bool


def said_by(name: str, arguments: list[str], out: Path | None = None) -> Any:
    """What a benchmark measured; 0 and 1 are its verdicts, anything else is a failure of its own."""
    print(f"· {name}", file=sys.stderr)
    command = [sys.executable, str(HERE / name), *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{name} ended with {done.returncode}")
    return json.loads(done.stdout if out is None else out.read_bytes())


def scoring(sizes: list[str]) -> Iterator[Row]:
    found = said_by("retrieval_scoring.py", [*sizes, "--json"])
    ours, base = found["sides"]["fold and measure"], found["sides"]["ir_measures"]
    ratio = ours["seconds"] / base["seconds"]
    yield Row(
        "fold and measure rankings",
        f"{ours['seconds']:.2f} s",
        f"ir_measures {base['seconds']:.2f} s",
        ratio,
        f"<= {found['limit']}",
        ratio <= found["limit"] and found["agree"],
    )


def query_path(sizes: list[str], model: Path, folder: Path) -> Iterator[Row]:
    out = folder / "query.json"
    found = said_by("retrieval_query.py", [*sizes, "--model", str(model), "--out", str(out)], out)
    bounds = found["bounds"]
    for depth, row in found["figures"]["query"].items():
        (name,) = (bound for bound in bounds if f"depth {depth} " in bound)
        times = ", ".join(f"{key} {value:.2f}" for key, value in row.items() if key != "ratio")
        yield Row(f"query path, depth {depth}", times, "in process", row["ratio"], "<= 1.3", bounds[name])
    embedding = found["figures"]["embedding"]
    yield Row(
        "embedding",
        f"{embedding['ours_texts_a_second']:.1f} texts/s",
        f"bare loop {embedding['bare_texts_a_second']:.1f} texts/s",
        embedding["share"],
        ">= 0.95",
        next(holds for bound, holds in bounds.items() if bound.startswith("embedding")),
    )


def indexing(sizes: list[str]) -> Iterator[Row]:
    found = said_by("indexing.py", [*sizes, "--json"])
    made = found["indexing"]
    most = max([made["runner_bytes"], *made["container_bytes"].values()])
    yield Row(
        f"index {made['passages']:,} passages",
        f"{made['seconds']:.1f} s, {most / 1e6:.0f} MB at most",
        "",
        most / MEMORY_LIMIT_BYTES,
        "<= 1 GB",
        most <= MEMORY_LIMIT_BYTES,
    )
    ratios = found["sidecar_to_engine"]
    for name, ratio in ratios.items() if isinstance(ratios, dict) else [("exact search", ratios)]:
        yield Row(f"sidecar, {name}", "p50", "engine in process", ratio, "<= 1.5", ratio <= 1.5)


def model_folder(given: Path | None) -> Path:
    """Where the model is."""
    found = given or next((place for place in sorted(MODELS.glob("*")) if (place / "tokenizer.json").exists()), None)
    if found is None:
        sys.exit("no model: build the images first (`make images`), or name its folder with --model")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes; bounds are shown, and not judged")
    parser.add_argument("--model", type=Path, help="folder of model.onnx and tokenizer.json")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    sizes = QUICK if given.quick else {name: list[str]() for name in QUICK}
    model = model_folder(given.model)
    with tempfile.TemporaryDirectory(prefix="pairbench-retrieval-") as folder:
        rows = [
            *scoring(sizes["retrieval_scoring.py"]),
            *query_path(sizes["retrieval_query.py"], model, Path(folder)),
            *indexing(sizes["indexing.py"]),
        ]
    if given.json:
        print(json.dumps({"rows": [asdict(row) for row in rows]}, indent=1))
    else:
        print("| what | ours | beside it | figure | bound | |\n|---|---|---|---|---|---|")
        for row in rows:
            verdict = "not judged" if given.quick else "holds" if row.holds else "BROKEN"
            print(f"| {row.what} | {row.ours} | {row.beside} | {row.figure:.2f} | {row.bound} | {verdict} |")
    return 0 if given.quick or all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
