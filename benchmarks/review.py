"""Prepare and score a review of many outputs, and look at its form in a browser.

    .venv/bin/python benchmarks/review.py [--candidates 2000] [--entries 500] [--json]

The run is a synthetic one over the shipped corpus, on the real disk. `form` opens the form of a packet of `--entries`
in headless Chromium, where there is one: the time to its first paint, the time that the program's own handler takes
for each key of a hundred decisions, and that from the key to the frame in which the next entry is painted, which the
next key waits for.

`used_by_others` says how busy the machine was before, between and after: the share of all its processors' time that
was used while this program waited. Exit 1 when preparing or scoring takes more than 5 s, the first paint more than 1 s,
or 95 of 100 keys more than 50 ms to that frame. Where a limit is missed and others used more than a
quarter of the machine, `judged` says that nothing was: measure again when it has nothing else to do. That is exit 3,
never 0.
"""

from __future__ import annotations

import argparse
import json
import os
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
BUSY = 0.25
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
# Handlers of the page itself run between the first listener of all and the last. The frame's callbacks run before it is
# painted, what they post after.
PRESSED = """
window.handled = [], window.painted = [];
let begun = 0;
addEventListener('keydown', () => { begun = performance.now(); }, true);
addEventListener('keydown', () => {
  handled.push(performance.now() - begun);
  const from = begun;
  requestAnimationFrame(() => { const port = new MessageChannel();
    port.port1.onmessage = () => painted.push(performance.now() - from); port.port2.postMessage(0); });
});
"""
# A person sees the entry before they decide: the next key comes when the last one's entry is painted.
IS_PAINTED = (
    "new Promise(done => { const look = () => painted.length < handled.length ? setTimeout(look) : done(); look(); })"
)


def used_by_others() -> float:
    """The share of all processors' time that is used while this program waits for a second."""
    begun = _ticks()
    time.sleep(1)
    used = [now - before for now, before in zip(_ticks(), begun, strict=True)]
    idle = used[3] + used[4]
    return round(1 - idle / max(sum(used), 1), 2)


def _ticks() -> list[int]:
    """Of all processors: user, nice, system, idle, waiting for input, and so on (proc_stat(5))."""
    return [int(one) for one in Path("/proc/stat").read_text("ascii").splitlines()[0].split()[1:9]]


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
            page.run(IS_PAINTED)
        handled, painted = sorted(page.run("handled")), sorted(page.run("painted"))
    return {
        "entries": min(entries, len(packet.entries)),
        "bytes": page_file.stat().st_size,
        "first_paint_ms": round(paint),
        "handler_median_ms": round(_share(handled, 50), 1),
        "handler_p95_ms": round(_share(handled, 95), 1),
        "key_median_ms": round(_share(painted, 50), 1),
        "key_p95_ms": round(_share(painted, 95), 1),
        "key_slowest_ms": round(painted[-1], 1),
    }


def _share(times: list[float], percent: int) -> float:
    """So many of 100 `times`, which are in order, are no longer than this."""
    return times[-(-len(times) * percent // 100) - 1]


def missed(measured: dict[str, Any]) -> list[str]:
    """Every limit that was missed."""
    limits = {"prepare_s": LIMIT_S, "score_s": LIMIT_S}
    of_form = {"first_paint_ms": PAINT_MS, "key_p95_ms": KEY_MS}
    found = [f"{name} {measured[name]} > {limit}" for name, limit in limits.items() if measured[name] > limit]
    form = measured["form"]
    return found + [f"{name} {form[name]} > {limit}" for name, limit in of_form.items() if form.get(name, 0) > limit]


def main() -> int:
    """The program; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=int, default=2000)
    parser.add_argument("--entries", type=int, default=500)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    load = [used_by_others()]
    with tempfile.TemporaryDirectory(prefix="pairbench-review-") as name:
        measured, packet = pipeline(Path(name), chosen.candidates)
        load.append(used_by_others())
        measured["form"] = form(Path(name), packet, chosen.entries)
    load.append(used_by_others())
    late = missed(measured)
    is_busy = max(load) > BUSY
    judged = "within all limits" if not late else "; ".join(late)
    if late and is_busy:
        judged = f"not judged, for others used up to {max(load):.0%} of the machine: {judged}"
    measured |= {"used_by_others": load, "processors": os.cpu_count(), "judged": judged}
    print(json.dumps(measured) if chosen.json else "\n".join(f"{key}: {value}" for key, value in measured.items()))
    if not late:
        return 0
    return 3 if is_busy else 1


if __name__ == "__main__":
    sys.exit(main())
