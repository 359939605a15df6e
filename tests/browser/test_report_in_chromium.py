"""The report in a browser, wide and narrow: nothing leaves the window, nothing stands on something else."""

from __future__ import annotations

import json
import re
import subprocess
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest

from runner.core.gates import Gate
from runner.core.outcomes import Outcome
from runner.core.records import Finding
from runner.publish.report import render_report
from runner.summarize.summary import summarize
from tests.fakes.records import RunSpec, make_run

if TYPE_CHECKING:
    from pathlib import Path

    from runner.core.summary import Summary

pytestmark = pytest.mark.chromium

WIDTHS = (390, 1280)
LONG = "a-name-of-an-arm-of-forty-characters-ago"
EVIL = "\u202e" + "word" * 60 + "\x1b[31m" + "e" + "\u0301" * 60
MEASURE = """
const found = {};
for (const frame of document.querySelectorAll('iframe')) {
  const page = frame.contentDocument;
  const labels = [...page.querySelectorAll('svg.axis')].flatMap(axis => {
    const boxes = [...axis.querySelectorAll('text')].map(text => text.getBoundingClientRect());
    return boxes.slice(1).filter((box, index) => box.left < boxes[index].right + 1);
  });
  const inside = element => element.closest('.scroll') === null;
  const leaving = [...page.querySelectorAll('body *')]
    .filter(element => inside(element) && element.getBoundingClientRect().right > page.documentElement.clientWidth + 1)
    .map(element => element.tagName + ' ' + element.textContent.slice(0, 40));
  found[frame.title] = {
    wide: page.documentElement.scrollWidth,
    leaving: leaving,
    crowded: labels.length,
    styled: page.defaultView.getComputedStyle(page.querySelector('.banner')).textAlign,
    targets: [...page.querySelectorAll('nav a')].filter(link => !page.querySelector(link.getAttribute('href'))).length,
  };
}
document.title = JSON.stringify(found);
"""


def summary_of(spec: RunSpec, description: str = "") -> Summary:
    run = make_run(spec)
    arm = spec.arms[1]
    gates = (Gate(name="cheaper", measure="cost_microusd", arm=arm, end="high", at_most="0.9"),)
    records = [record.model_copy(update={"reason": description}) if record.reason else record for record in run.records]
    context = {"gates": gates, "description": description or run.context.description}
    return summarize(_with(run.context, context), run.plan, records, run.scores)


def _with(context: Any, changes: dict[str, Any]) -> Any:
    return type(context)(**{**context.__dict__, **changes})


PAGES = {
    "three arms that fail": summary_of(
        RunSpec(
            arms=("off", "memory", "notes"),
            outcomes={"task-03.r1.memory": Outcome.TIMEOUT, "task-08.r1.notes": Outcome.INFRASTRUCTURE},
            findings={"task-02.r2.off": (Finding(kind="stream-cut", detail=EVIL),)},
        ),
        EVIL,
    ),
    "five arms": summary_of(RunSpec(arms=("off", "memory", "notes", LONG, "fifth"))),
    "no complete block": summary_of(
        RunSpec(tasks=("a", "b"), outcomes={f"{t}.r{r}.memory": Outcome.TIMEOUT for t in "ab" for r in (1, 2)})
    ),
    "two blocks": summary_of(RunSpec(tasks=("a", "b"), repetitions=1)),
}


@pytest.fixture(scope="module")
def measured(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the browser says of each page in a frame of each width."""
    folder: Path = tmp_path_factory.mktemp("pages")
    frames = []
    for number, (name, summary) in enumerate(PAGES.items()):
        (folder / f"{number}.html").write_bytes(render_report(summary))
        frames += [
            f'<iframe title="{name}, {width}" src="{number}.html" style="width: {width}px; height: 800px; border: 0">'
            "</iframe>"
            for width in WIDTHS
        ]
    page = f"<!DOCTYPE html>{''.join(frames)}<script>addEventListener('load', () => {{{MEASURE}}})</script>"
    (folder / "all.html").write_text(page, "utf-8")
    done = subprocess.run(
        [
            chromium,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--allow-file-access-from-files",
            f"--user-data-dir={folder / 'profile'}",
            "--dump-dom",
            (folder / "all.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    title = re.search(r"<title>(.*?)</title>", done.stdout, re.DOTALL)
    assert title is not None, done.stderr
    found: dict[str, Any] = json.loads(unescape(title[1]))
    assert len(found) == len(PAGES) * len(WIDTHS)
    return found


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_nothing_leaves_the_window(measured: dict[str, Any], name: str, width: int) -> None:
    """Tables scroll in themselves; a word without end is broken."""
    found = measured[f"{name}, {width}"]
    assert (found["wide"], found["leaving"]) == (width, [])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_labels_of_an_axis_stand_apart(measured: dict[str, Any], name: str, width: int) -> None:
    """In the narrowest card and in the widest table."""
    assert measured[f"{name}, {width}"]["crowded"] == 0


@pytest.mark.parametrize("name", PAGES)
def test_the_page_s_own_policy_lets_its_style_in(measured: dict[str, Any], name: str) -> None:
    """And each link leads to a heading that is there."""
    found = measured[f"{name}, 1280"]
    assert (found["styled"], found["targets"]) == ("center", 0)
