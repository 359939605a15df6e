"""Threat: an hour of work is lost, or decided by nobody. Held keys, imports, windows, broken storage, odd notes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from runner.adjudicate.deciding import undecided
from runner.core.reconsolidation.packet import Decisions
from tests.fakes.chromium import page_of
from tests.fakes.forms import another_window, clicked, finish, imported, kept, news, packet_of, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runner.core.reconsolidation.packet import Packet
    from tests.fakes.chromium import Page

pytestmark = pytest.mark.chromium

PACKET = packet_of(("It is so.",) * 4)
KEPT = f"pairbench-review:{PACKET.digest()}"


@pytest.fixture
def page(chromium: str, tmp_path: Path) -> Iterator[Page]:
    with page_of(chromium, tmp_path / "browser") as made:
        shown(made, tmp_path, PACKET)
        yield made


def told(packet: Packet, decisions: dict[int, str], notes: dict[int, str] | None = None, name: str = "") -> bytes:
    """A file of decisions; what isn't in `decisions` is undecided."""
    empty = undecided(packet)
    made = []
    for number, one in enumerate(empty.decisions):
        verdict, note = decisions.get(number), (notes or {}).get(number, "")
        reference = f"r-{number:05d}0" if verdict == "equivalent" else None
        made.append(one.model_copy(update={"decision": verdict, "reference": reference, "note": note}))
    reviewer = empty.reviewer.model_copy(update={"name": name})
    return empty.model_copy(update={"decisions": tuple(made), "reviewer": reviewer}).to_bytes()


def test_a_key_that_is_held_decides_once(page: Page) -> None:
    """What comes while it is down wasn't read; undo doesn't run away either."""
    for repeat in (False, True, True, True):
        page.call("Input.dispatchKeyEvent", type="keyDown", key="n", text="n", autoRepeat=repeat)
    assert kept(page) == [("not_equivalent", ""), (None, ""), (None, ""), (None, "")]
    page.press("u")
    for repeat in (False, True, True):
        page.call("Input.dispatchKeyEvent", type="keyDown", key="z", text="z", autoRepeat=repeat)
    assert kept(page)[0] == ("not_equivalent", "")
    assert page.text("#status") == "Undone: entry 2 is undecided again."


def test_a_double_click_decides_once(page: Page) -> None:
    """The next entry stands under the pointer already when the second click comes."""
    clicked(page, "#not-equivalent", times=2)
    assert kept(page) == [("not_equivalent", ""), (None, ""), (None, ""), (None, "")]
    clicked(page, "#uncertain")
    assert kept(page)[1] == ("uncertain", "")


def test_undo_takes_back_the_decision_alone(page: Page) -> None:
    """A note that was written since stays."""
    page.press("n")
    page.press("ArrowLeft")
    page.press("m")
    page.type("late")
    page.press("Escape")
    page.press("z")
    assert kept(page)[0] == (None, "late")
    assert page.text("#heading") == "Entry 1 of 4: undecided"


def test_all_but_the_page_survives_a_reload(page: Page) -> None:
    """Cursor, notes, what can be undone, and how long an entry takes."""
    for key in "nnu":
        page.press(key)
    page.press("ArrowLeft")
    assert page.text("#progress-text") == "3 of 4 decided, 1 left, about 1 minute"
    page.reload()
    assert page.text("#heading") == "Entry 3 of 4: uncertain"
    assert page.text("#progress-text") == "3 of 4 decided, 1 left, about 1 minute"
    for _ in "zzz":
        page.press("z")
    assert kept(page) == [(None, "")] * 4
    page.press("z")
    assert page.text("#status") == "There is nothing to undo."


def worked(page: Page) -> None:
    """Two entries are decided, a note is written, and the statement is confirmed."""
    page.press("n")
    page.press("u")
    page.press("m")
    page.type("mine")
    page.press("Escape")
    page.run("document.getElementById('attest').click()")


MINE: list[tuple[str | None, str]] = [("not_equivalent", ""), ("uncertain", ""), (None, "mine"), (None, "")]


def test_blank_decisions_wipe_nothing_unasked(page: Page, tmp_path: Path) -> None:
    """The file that lies beside the form is blank; Esc, and all is as before, the statement too."""
    worked(page)
    asked = imported(page, tmp_path / "blank.json", undecided(PACKET).to_bytes())
    assert asked == "asks: The file leaves 2 entries undecided that you decided, lacks 1 note of yours."
    assert page.run("document.activeElement.id") == "keep"
    assert page.run("['take-over', 'replace'].map(name => document.getElementById(name).checkVisibility())") == [
        False,
        True,
    ]
    page.press("n")
    page.press("Escape")
    assert page.text("#status") == "Nothing was imported."
    assert kept(page) == MINE
    assert page.run("document.getElementById('attest').checked")


@pytest.mark.parametrize(
    ("button", "expected", "said"),
    [
        (
            "take-over",
            [("equivalent", "theirs"), ("uncertain", ""), (None, "mine"), ("uncertain", "")],
            "Imported: 1 added, 1 changed, 0 dropped, 1 note; 3 of 4 decided. Confirm the statement again.",
        ),
        (
            "replace",
            [("equivalent", "theirs"), (None, ""), (None, ""), ("uncertain", "")],
            "Imported: 1 added, 1 changed, 1 dropped, 2 notes; 2 of 4 decided. Confirm the statement again.",
        ),
    ],
)
def test_an_import_says_what_it_changes_and_can_be_undone(
    page: Page, tmp_path: Path, button: str, expected: list[tuple[str | None, str]], said: str
) -> None:
    """What the file leaves open is dropped only by whoever presses the button that says so."""
    worked(page)
    file = told(PACKET, {0: "equivalent", 3: "uncertain"}, {0: "theirs"})
    assert imported(page, tmp_path / "other.json", file) == (
        "asks: The file decides 1 entry that you left undecided, decides 1 entry otherwise than you did, leaves 1 entry "
        "undecided that you decided, has 1 note where you have none, lacks 1 note of yours."
    )
    clicked(page, f"#{button}")
    assert page.text("#status") == said
    assert kept(page) == expected
    assert not page.run("document.getElementById('attest').checked")
    page.press("z")
    assert page.text("#status") == "Undone: the import."
    assert kept(page) == MINE


def test_decisions_of_somebody_else_are_asked_about(page: Page, tmp_path: Path) -> None:
    """Though they add only; the name that stands here stays."""
    page.run("document.getElementById('name').value = 'ada'")
    asked = imported(page, tmp_path / "bo.json", told(PACKET, {0: "uncertain"}, name="bo"))
    assert asked.startswith(
        'asks: The file is by "bo", and this review by "ada". The file decides 1 entry that you left'
    )
    clicked(page, "#take-over")
    assert page.run("document.getElementById('name').value") == "ada"


@pytest.mark.parametrize("change", [
    (b"{", "The file isn't JSON; nothing was imported.|"),
    (b"\xff\xfe\x00", "The file isn't JSON; nothing was imported.|"),
    (b"null", "The file holds no decisions; nothing was imported.|"),
    (b"[]", "The file holds no decisions; nothing was imported.|"),
    ({"decisions": {}}, "The file holds no decisions; nothing was imported.|"),
    ({"version": 99}, "The file holds no decisions; nothing was imported.|"),
    ({"packet": None}, "The decisions are about another packet; nothing was imported.|"),
    ({"decisions": [None]}, "Number 1 of the file is no decision; nothing was imported.|"),
    ({"decisions": [{"entry": "e-00001"}, 7]}, "Number 2 of the file is no decision; nothing was imported.|"),
    ({"decisions": [{"entry": ["e-00001"]}]}, "Number 1 of the file is no decision; nothing was imported.|"),
    ({"decisions": [{"entry": "e-00001", "decision": "uncertain"}, {"entry": "e-00001", "decision": "not_equivalent"}]},
     "Entry 2 stands twice in the file; nothing was imported.|"),
    ({"decisions": [{"entry": "x"}, {"entry": "x"}]}, "An entry stands twice in the file; nothing was imported.|"),
])  # fmt: skip
def test_a_file_that_is_none_imports_nothing(
    page: Page, tmp_path: Path, change: tuple[bytes | dict[str, Any], str]
) -> None:
    """It is told what is wrong with it, and the form goes on."""
    data, said = change
    if isinstance(data, dict):
        data = json.dumps({**json.loads(undecided(PACKET).to_bytes()), **data}).encode()
    page.press("n")
    page.press("o")
    assert imported(page, tmp_path / "odd.json", data) == said
    page.press("Escape")
    page.press("u")
    assert kept(page) == [("not_equivalent", ""), ("uncertain", ""), (None, ""), (None, "")]


def test_odd_parts_of_a_file_break_nothing(page: Page, tmp_path: Path) -> None:
    """A reviewer that is no record, a note that is no text, a decision of no kind."""
    data = json.loads(told(PACKET, {0: "uncertain"}))
    data["reviewer"] = [None]
    data["decisions"][1] |= {"decision": "perhaps", "note": 7}
    said = imported(page, tmp_path / "odd.json", json.dumps(data).encode())
    assert said == (
        "1 decision of the file isn't possible here, and left out.|"
        "Imported: 1 added, 0 changed, 0 dropped, 0 notes; 1 of 4 decided. Confirm the statement again."
    )


UNREADABLE = "What this browser kept can't be read; decisions start afresh. If you have exported some, import them."
GOOD = {"decision": "uncertain", "reference": None, "note": ""}


@pytest.mark.parametrize(
    ("held", "alarm", "heading"),
    [
        ("{", UNREADABLE, "Entry 1 of 4: undecided"),
        ("null", UNREADABLE, "Entry 1 of 4: undecided"),
        ("7", UNREADABLE, "Entry 1 of 4: undecided"),
        ({"decisions": [GOOD]}, UNREADABLE, "Entry 1 of 4: undecided"),
        ({"decisions": [GOOD, None, 7, {"decision": "x"}], "here": 1}, "3 decisions that this browser kept can't be read; press F for what is undecided.", "Entry 2 of 4: undecided"),
        ({"decisions": [GOOD] * 4, "here": 9, "name": 7, "attested": "x"}, "", "Entry 1 of 4: uncertain"),
        ({"decisions": [GOOD] * 4, "steps": [None], "times": ["x"]}, "", "Entry 1 of 4: uncertain"),
        ({"decisions": [GOOD] * 4, "steps": [{"here": 0, "changes": [[9, None, None]]}], "times": 7}, "", "Entry 1 of 4: uncertain"),
        ({"decisions": [GOOD] * 4, "steps": [{"here": 0, "changes": []}]}, "", "Entry 1 of 4: uncertain"),
    ],
)  # fmt: skip
def test_what_was_kept_and_is_broken_never_stops_the_form(page: Page, held: Any, alarm: str, heading: str) -> None:
    """What can be read of it is there; what can't is told, and lies aside."""
    text = held if isinstance(held, str) else json.dumps(held)
    page.run(f"localStorage.setItem({KEPT!r}, {text!r}); localStorage.setItem('pairbench-review-settings', '[')")
    page.reload()
    assert page.run("document.documentElement.dataset.ready") == "yes"
    assert page.text("#alarm") == alarm
    assert page.text("#heading") == heading
    assert page.run(f"localStorage.getItem({KEPT + ':unreadable'!r})") == (text if alarm else None)
    page.press("z")
    page.press("n")
    assert page.text("#heading") == f"Entry {2 if heading.startswith('Entry 1') else 3} of 4: " + heading.split(": ")[1]


def test_a_browser_without_storage_has_a_form(page: Page, tmp_path: Path) -> None:
    """It may be forbidden to read or write anything, or even to ask."""
    page.call(
        "Page.addScriptToEvaluateOnNewDocument",
        source="Object.defineProperty(window, 'localStorage', { get() { throw new Error('forbidden'); } });",
    )
    page.reload()
    assert page.text("#alarm") == "This browser keeps nothing: export your decisions before you close the page."
    for key in "nuuu":
        page.press(key)
    page.press("ArrowLeft")
    assert page.text("#alarm") == "This browser keeps nothing: export your decisions before you close the page."
    assert [one.decision for one in finish(page).decisions] == ["not_equivalent", "uncertain", "uncertain", "uncertain"]


def test_an_older_window_writes_over_nothing(page: Page, tmp_path: Path) -> None:
    """It is told at once, changes nothing more, and can be gone on with where the newer one stood."""
    page.press("n")
    newer = another_window(page, tmp_path / "form.html")
    assert newer.text("#heading") == "Entry 2 of 4: undecided"
    elsewhere = "This review goes on in another window. Nothing can be decided here any more."
    page.run("document.getElementById('status').textContent = ''")
    assert news(page) == f"{elsewhere}|"
    newer.press("u")
    for key in ("u", "z", "2", "ArrowRight"):
        page.press(key)
    page.run("document.getElementById('export').click()")
    assert page.text("#alarm") == elsewhere
    assert page.run("document.getElementById('note').readOnly")
    held = [("not_equivalent", ""), ("uncertain", ""), (None, ""), (None, "")]
    assert kept(newer) == held
    page.events.clear()
    page.call("Page.bringToFront")
    clicked(page, "#here")
    page.wait("Page.loadEventFired")
    assert page.text("#heading") == "Entry 3 of 4: undecided"
    assert page.text("#alarm") == ""
    assert news(newer).startswith(elsewhere)
    newer.press("n")
    assert kept(page) == held


def test_a_window_that_was_not_told_looks_before_it_writes(page: Page) -> None:
    """The event may be late: whose the review is stands beside it."""
    page.press("n")
    page.run(f"localStorage.setItem({KEPT + ':window'!r}, 'somebody')")
    page.press("u")
    assert kept(page) == [("not_equivalent", ""), (None, ""), (None, ""), (None, "")]
    assert page.text("#heading") == "Entry 2 of 4: undecided"


def test_half_a_character_is_replaced_before_it_leaves(page: Page) -> None:
    """And everybody is told: a file with it couldn't be read by the program that scores."""
    page.run(
        "(note => { note.value = 'a\\ud83d b \\ude00 \\ud83d\\ude00'; note.dispatchEvent(new Event('input')); })"
        "(document.getElementById('note'))"
    )
    page.press("n")
    page.press("o")
    page.run("document.getElementById('export').click()")
    found = Decisions.from_bytes(page.downloaded().read_bytes(), "export")
    assert found.decisions[0].note == "a\ufffd b \ufffd \U0001f600"
    assert page.text("#alarm").endswith("Half of a character stood in 1 text: it is \ufffd now.")
    page.press("Escape")
    page.press("ArrowLeft")
    assert page.run("document.getElementById('note').value") == "a\ufffd b \ufffd \U0001f600"


def test_single_keys_can_be_turned_off(page: Page) -> None:
    """For those who dictate (WCAG 2.1.4): the choice is kept, and buttons and arrows go on."""
    page.press("?")
    assert page.run("document.activeElement.id") == "close-keys"
    page.press("n")
    clicked(page, "#single-keys")
    page.press("Escape")
    for _ in ("now", "after a reload"):
        for key in ("n", "u", "1", "z", "o", "m", "f", "r", "?"):
            page.press(key)
        assert page.text("#progress-text") == "0 of 4 decided, 4 left"
        assert not page.run("document.getElementById('keys').open || !document.getElementById('overview').hidden")
        assert page.run("getComputedStyle(document.querySelector('#uncertain kbd')).display") == "none"
        page.press("ArrowRight")
        page.press("ArrowLeft")
        assert page.text("#heading") == "Entry 1 of 4: undecided"
        page.reload()
    clicked(page, "#uncertain")
    assert kept(page)[0] == ("uncertain", "")


def test_old_news_go_when_something_else_is_done(page: Page) -> None:
    """Nothing that was said of one entry stands beside another."""
    page.press("7")
    assert page.text("#status") == "There is no reference 7 here."
    page.press("o")
    assert page.text("#status") == ""
    page.press("n")
    assert page.text("#status") == "Decisions and notes are made at an entry: Enter opens one."
    page.press("Escape")
    assert page.text("#status") == ""
