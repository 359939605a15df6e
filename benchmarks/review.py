"""Prepare and score a review of many outputs, and look at its form in a browser.

    .venv/bin/python benchmarks/review.py [--candidates 2000] [--entries 500] [--json]

The run is a synthetic one over the shipped corpus, on the real disk. `form` opens the form of a packet of `--entries`
in headless Chromium, where there is one: the time to its first paint, and from each key of a hundred decisions to the
frame in which the next entry is painted. Exit 1 when preparing or scoring takes more than 5 s, the first paint more
than 1 s, or 95 of 100 keys more than 50 ms.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from runner.adapters.disk import Disk
from runner.adjudicate.form import render_form
from runner.core.reconsolidation.observation import Hypothesis
from runner.core.reconsolidation.packet import Packet
from runner.pipeline.reviewing import Scoring, prepare, score
from tests.fakes.chromium import page_of
from tests.fakes.reviews import Made, decided, world_of, write_run

if TYPE_CHECKING:
    from collections.abc import Callable

    from runner.core.reconsolidation.corpus import Case

LIMIT_S, PAINT_MS, KEY_MS = 5.0, 1000.0, 50.0
KEYS = 100
CASES, REPEATS, ARMS = 28, 3, 2
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
# Two frames: the first one's callbacks run before it is painted.
PRESSED = """
window.took = [];
addEventListener('keydown', () => {
  const begun = performance.now();
  requestAnimationFrame(() => { const port = new MessageChannel();
    port.port1.onmessage = () => took.push(performance.now() - begun); port.port2.postMessage(0); });
}, true);
"""


def many(candidates: int) -> Callable[[Case, int, str], list[Hypothesis]]:
    """So many outputs of each case, arm and repeat that there are about `candidates` in all."""
    each = -(-candidates // (CASES * REPEATS * ARMS))

    def said(case: Case, number: int, arm: str) -> list[Hypothesis]:
        live = [seed.id for seed in case.seeds if seed.is_live]
        return [
            Hypothesis(statement=f"{arm} supposes that {case.seeds[0].statement} {number}.{index}", support=tuple(live))
            for index in range(each)
        ]

    return said


def taken(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def pipeline(folder: Path, candidates: int) -> tuple[dict[str, Any], Packet]:
    files = Disk()
    world, review, mine = world_of(files), folder / "review", folder / "mine.json"
    run = write_run(files, replace(Made(), hypotheses=many(candidates)), folder / "run", folder / "register.json")
    prepare_s = taken(lambda: prepare(world, run, review))
    packet = Packet.from_bytes((review / "public/packet.json").read_bytes(), "packet")
    files.write(mine, decided(packet).to_bytes())
    scoring = Scoring(review, (mine,), folder / "assessment", folder / "register.json")
    score_s = taken(lambda: score(world, scoring))
    return {"entries": len(packet.entries), "prepare_s": round(prepare_s, 2), "score_s": round(score_s, 2)}, packet


def form(folder: Path, packet: Packet, entries: int) -> dict[str, Any]:
    program = next((name for name in ("chromium", "chromium-browser", "google-chrome") if shutil.which(name)), "")
    if not program:
        return {"unavailable": "no Chromium"}
    page_file = folder / "form.html"
    page_file.write_bytes(render_form(packet.model_copy(update={"entries": packet.entries[:entries]})))
    with page_of(program, folder / "browser") as page:
        page.open(page_file)
        paint = page.run(f"new Promise(done => requestAnimationFrame(() => setTimeout(() => done({PAINT}), 50)))")
        page.run(PRESSED)
        for _ in range(KEYS):
            page.press("n")
        times = sorted(page.run("took"))
    return {
        "entries": min(entries, len(packet.entries)),
        "bytes": page_file.stat().st_size,
        "first_paint_ms": round(paint),
        "key_median_ms": round(times[len(times) // 2], 1),
        "key_p95_ms": round(times[len(times) * 95 // 100 - 1], 1),
        "key_slowest_ms": round(times[-1], 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=int, default=2000)
    parser.add_argument("--entries", type=int, default=500)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pairbench-review-") as name:
        measured, packet = pipeline(Path(name), chosen.candidates)
        measured["form"] = form(Path(name), packet, chosen.entries)
    print(json.dumps(measured) if chosen.json else "\n".join(f"{key}: {value}" for key, value in measured.items()))
    shown = measured["form"]
    late = max(measured["prepare_s"], measured["score_s"]) > LIMIT_S
    slow = shown.get("first_paint_ms", 0) > PAINT_MS or shown.get("key_p95_ms", 0) > KEY_MS
    return 1 if late or slow else 0


if __name__ == "__main__":
    sys.exit(main())
