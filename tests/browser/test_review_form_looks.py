"""A person with an hour: what is within reach on every screen, what the overview finds, and what marks look like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fakes.chromium import page_of
from tests.fakes.forms import clicked, kept, packet_of, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.fakes.chromium import Page

pytestmark = pytest.mark.chromium

LONG = ("A sentence that goes on for a while, as sentences of systems do. " * 12,)
SHAPES = (
    "(name => { const style = getComputedStyle(document.querySelector(`.legend mark.${name}`));"
    " return [style.fontWeight, style.fontStyle, style.textDecorationStyle]; })"
)


@pytest.fixture
def page(chromium: str, tmp_path: Path) -> Iterator[Page]:
    with page_of(chromium, tmp_path / "browser") as made:
        yield made


def in_reach(page: Page, *selectors: str) -> list[str]:
    """Those of `selectors` that stand in the window with nothing before them."""
    script = """(selectors => selectors.filter(selector => {
      const box = document.querySelector(selector).getBoundingClientRect();
      const seen = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
      return box.top >= 0 && box.bottom <= innerHeight && seen !== null && seen.closest(selector) !== null; }))"""
    return [str(one) for one in page.run(f"{script}({list(selectors)!r})")]


REACHED = (
    "#progress-text",
    "#quick button",
    "#not-equivalent",
    "#uncertain",
    "#undo",
    "#after",
    "#show-overview",
    "summary",
)


@pytest.mark.parametrize(("width", "height"), [(390, 844), (844, 390), (1280, 900)])
def test_decisions_progress_and_rules_stay_in_reach(page: Page, tmp_path: Path, width: int, height: int) -> None:
    """However long the texts are and wherever somebody reads; the rules but on a low window, where they'd take it all."""
    page.resize(width, height)
    shown(page, tmp_path, packet_of(LONG * 3, LONG))
    wanted = REACHED if height > 480 else REACHED[:-1]
    for place in (0, 500, 100_000):
        page.run(f"scrollTo(0, {place})")
        assert in_reach(page, *wanted) == list(wanted)
    clicked(page, "#not-equivalent")
    assert page.text("#heading") == "Entry 2 of 3: undecided"
    assert in_reach(page, "#heading") == ["#heading"]


def test_what_has_the_focus_is_never_covered(page: Page, tmp_path: Path) -> None:
    """By what sticks to the edges of a phone's window (WCAG 2.4.11)."""
    page.resize(390, 844)
    shown(page, tmp_path, packet_of(LONG * 2, LONG))
    page.press("m")
    assert in_reach(page, "#note") == ["#note"]
    page.press("Escape")
    assert in_reach(page, "#heading") == ["#heading"]


@pytest.mark.parametrize("height", [200, 225])
def test_nothing_sticks_at_400_percent(page: Page, tmp_path: Path, height: int) -> None:
    """A window of 1280 pixels is 320 wide then: the rules are in short, and all of it is for what is read."""
    page.resize(320, height)
    shown(page, tmp_path, packet_of(LONG * 2, LONG))
    assert not page.run("document.getElementById('rules-box').open")
    for name in ("bar", "rules-box"):
        assert page.run(f"getComputedStyle(document.getElementById({name!r})).position") == "static"
    assert page.run("document.documentElement.scrollWidth") <= 320
    page.press("n")
    assert page.run("document.getElementById('heading').getBoundingClientRect().top") <= height / 2


def test_rules_stand_on_every_page_in_full_or_in_short(page: Page, tmp_path: Path) -> None:
    """Which of both is kept, and in the overview they stand too."""
    shown(page, tmp_path, packet_of(("It is so.",) * 2))
    rules = "['rules-short', 'rules'].map(name => document.getElementById(name).checkVisibility())"
    assert page.run(rules) == [False, True]
    page.press("r")
    assert page.run(rules) == [True, False]
    page.run("new Promise(done => setTimeout(done))")
    page.reload()
    page.press("o")
    assert page.run(rules) == [True, False]
    assert page.text("#rules-short") == "One rule · Another"
    page.press("r")
    assert page.run(rules) == [False, True]


LISTED = "[...document.querySelectorAll('#list button')].map(row => row.querySelector('.state').textContent)"


def test_the_overview_finds_what_is_looked_for(page: Page, tmp_path: Path) -> None:
    """By button and by digit; the number of each stands there."""
    shown(page, tmp_path, packet_of(("It is so.",) * 5))
    page.press("u")
    page.press("1")
    page.press("n")
    page.press("m")
    page.type("odd")
    page.press("Escape")
    page.press("o")
    assert page.run("[...document.querySelectorAll('#filters button')].map(one => one.textContent)") == [
        "All 5 1",
        "Undecided 2 2",
        "Uncertain 1 3",
        "With a note 1 4",
        "Equivalent 1 5",
        "Not equivalent 1 6",
    ]
    found = []
    for key in "23456":
        page.press(key)
        found.append(page.run(LISTED))
    assert found == [
        ["4. undecided", "5. undecided"],
        ["1. uncertain"],
        ["4. undecided"],
        ["2. equivalent to 1"],
        ["3. not equivalent"],
    ]
    assert page.text("#status") == "1 entry: not equivalent."
    page.press("9")
    page.press("Escape")
    page.press("o")
    assert page.run(LISTED) == ["3. not equivalent"]


def test_keys_work_in_the_overview(page: Page, tmp_path: Path) -> None:
    """Undo, the first that is undecided, and the way through the list; nothing is decided unseen."""
    shown(page, tmp_path, packet_of(("It is so.",) * 5))
    for key in "nun":
        page.press(key)
    page.press("o")
    page.press("z")
    assert page.text("#status") == "Undone: entry 3 is undecided again."
    assert page.run(LISTED)[2] == "3. undecided"
    for key in ("n", "u", "m"):
        page.press(key)
    assert kept(page)[2:] == [(None, "")] * 3
    page.press("ArrowDown")
    page.press("ArrowDown")
    assert page.run("document.activeElement.textContent").startswith("4. undecided")
    page.press("ArrowUp")
    page.press("ArrowUp")
    page.press("Enter")
    assert page.text("#heading") == "Entry 2 of 5: uncertain"
    page.press("o")
    page.press("f")
    assert page.text("#heading") == "Entry 3 of 5: undecided"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_marks_are_told_apart_without_colour(page: Page, tmp_path: Path, scheme: str) -> None:
    """By weight, slant and line; a frame is as thick as it can be seen, and goes with each."""
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    shown(page, tmp_path, packet_of(("Nobody at Merlin saw ten cats.",)))
    assert [page.run(f"{SHAPES}({name!r})") for name in ("number", "negation", "name")] == [
        ["700", "normal", "solid"],
        ["700", "normal", "double"],
        ["400", "italic", "dotted"],
    ]
    frames = "[...document.querySelectorAll('#candidate mark')].map(mark => getComputedStyle(mark).outlineWidth)"
    assert page.run(frames) == ["2px", "2px", "2px"]
    only = "In the candidate and in no reference: negation Nobody, name Merlin, number ten"
    assert page.text("#candidate-only") == only


def test_a_name_is_marked_alike_where_a_sentence_begins(page: Page, tmp_path: Path) -> None:
    """In the candidate and in the references: a person, and what others call by a name."""
    candidates = ("Ana turns it down.", "Osprey stores it. The cats came.", "It is of Osprey.")
    shown(page, tmp_path, packet_of(candidates, ("Ana saw Osprey.",)))
    marks = "[...document.querySelectorAll('#candidate mark')].map(mark => [mark.textContent, mark.className])"
    found = []
    for _ in candidates:
        found.append(page.run(marks))
        page.press("ArrowRight")
    assert found == [[["Ana", "name"]], [["Osprey", "name"]], [["Osprey", "name"]]]
    in_references = "[...document.querySelectorAll('#references mark.name')].map(mark => mark.textContent)"
    assert page.run(in_references) == ["Ana", "Osprey"]
