"""The review form in a browser: a whole review by keyboard, resumed, exported and scored; hostile texts; small windows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runner.adjudicate.deciding import undecided
from runner.core.reconsolidation.packet import ATTESTATION, Decisions, Packet
from runner.pipeline.reviewing import Scoring, prepare, score
from tests.fakes.chromium import page_of
from tests.fakes.files import MemoryFiles
from tests.fakes.forms import HOSTILE, finish, imported, kept, packet_of, shown
from tests.fakes.reviews import REGISTER, RUN, decided, judge, world_of, write_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.core.reconsolidation.packet import Entry
    from tests.fakes.chromium import Page

pytestmark = pytest.mark.chromium


@pytest.fixture
def page(chromium: str, tmp_path: Path) -> Iterator[Page]:
    with page_of(chromium, tmp_path / "browser") as made:
        yield made


def keys_for(entry: Entry) -> str:
    """What a reviewer presses who judges as `judge` does."""
    told = judge(entry)
    names = [reference.reference for reference in entry.references]
    return "n" if told.reference is None else str(names.index(told.reference) + 1)


def test_a_whole_review_by_keyboard_resumed_exported_and_scored(page: Page, tmp_path: Path) -> None:
    """Half of it, a reload, the other half, the export: the assessment is that of the same decisions made elsewhere."""
    files = MemoryFiles()
    write_run(files)
    prepare(world_of(files), RUN, Path("/review"))
    packet = Packet.from_bytes(files.read(Path("/review/public/packet.json")) or b"", "packet")
    (tmp_path / "form.html").write_bytes(files.read(Path("/review/public/form.html")) or b"")
    page.open(tmp_path / "form.html")
    half = len(packet.entries) // 2
    for entry in packet.entries[:half]:
        page.press(keys_for(entry))
    page.reload()
    assert page.text("#status") == f"Going on where you were: {half} of {len(packet.entries)} decided."
    assert page.text("#heading") == f"Entry {half + 1} of {len(packet.entries)}: undecided"
    for entry in packet.entries[half:]:
        page.press(keys_for(entry))
    assert page.text("#status") == "All entries are decided. Press O to export."
    exported = finish(page)
    assert page.text("#alarm") == ""
    assert exported == decided(packet).model_copy(update={"decisions": tuple(sorted_like(exported, packet))})
    files.write(Path("/mine.json"), exported.to_bytes())
    found, _ = score(world_of(files), Scoring(Path("/review"), (Path("/mine.json"),), Path("/out"), REGISTER))
    assert found.passed
    assert {arm.arm: arm.matched for arm in found.arms if arm.split == "development"}["connections"] == 25


def sorted_like(exported: Decisions, packet: Packet) -> list[Any]:
    """The decisions of `judge`, in the order of the export."""
    told = {entry.entry: judge(entry) for entry in packet.entries}
    return [told[one.entry] for one in exported.decisions]


def test_texts_of_models_are_shown_and_never_run(page: Page, tmp_path: Path) -> None:
    """Markup stands there as text; what turns the writing or can't be seen is spelled out; nothing is fetched."""
    shown(page, tmp_path, packet_of(HOSTILE))
    seen = []
    for _ in HOSTILE:
        seen.append(page.text("#candidate"))
        page.press("ArrowRight")
    page.press("o")
    assert page.run("typeof pwned") == "undefined"
    assert page.run("document.querySelectorAll('main img, main svg, main a, main script, main style').length") == 0
    assert seen[0] == HOSTILE[0]
    assert seen[1] == HOSTILE[1]
    assert seen[2] == ("abc\\u202egnp.exe\\u2066 zero\\u200bwidth\\ufeff \\x1b[31mred\\x07 nul\\x00 line\\u2028sep")
    requested = [
        heard["params"]["request"]["url"] for heard in page.events if heard.get("method") == "Network.requestWillBeSent"
    ]
    assert [url for url in requested if not url.startswith("file://")] == []
    # What a browser has to say of where its focus goes is no fault; warnings and errors are.
    logged = [heard["params"]["entry"] for heard in page.events if heard.get("method") == "Log.entryAdded"]
    assert [entry for entry in logged if entry["level"] != "info"] == []
    assert [heard for heard in page.events if heard.get("method") == "Runtime.exceptionThrown"] == []


def test_only_the_entry_that_is_looked_at_is_on_the_page(page: Page, tmp_path: Path) -> None:
    """So that 500 entries are as quick as five: the page has the same elements with either."""
    counts = []
    for number in (5, 500):
        shown(page, tmp_path, packet_of(("It is so.",) * number))
        counts.append(page.run("document.querySelectorAll('*').length"))
        page.press("n")
        counts.append(page.run("document.querySelectorAll('*').length"))
        assert page.text("#heading") == f"Entry 2 of {number}: undecided"
    assert counts[:2] == counts[2:]


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_nothing_leaves_the_window(page: Page, tmp_path: Path, width: int) -> None:
    """At the width of a phone, and of a window of 1280 pixels at 400 %; also words without end."""
    page.resize(width)
    shown(page, tmp_path, packet_of(HOSTILE))
    for key in ("", "?", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "o"):
        if key:
            page.press(key)
        assert page.run("document.documentElement.scrollWidth") <= width


def test_choices_can_be_undone_and_looked_up(page: Page, tmp_path: Path) -> None:
    """Undo goes back to the entry; notes are kept; a reference with other support can't be chosen."""
    shown(page, tmp_path, packet_of(("It is so.",) * 3))
    page.press("1")
    page.press("u")
    assert page.text("#progress-text").startswith("2 of 3 decided")
    page.press("z")
    assert page.text("#heading") == "Entry 2 of 3: undecided"
    page.press("2")
    assert page.text("#status") == "Reference 2 rests on other sources than the candidate: it can't be equivalent."
    page.press("7")
    assert page.text("#status") == "There is no reference 7 here."
    page.press("m")
    page.type("nine u")
    page.press("Escape")
    page.press("n")
    page.press("ArrowRight")
    assert page.text("#status") == "This is the last entry."
    page.press("f")
    assert page.text("#heading") == "Entry 3 of 3: undecided"
    told = finish(page)
    assert [(one.decision, one.reference, one.note) for one in told.decisions] == [
        ("equivalent", "r-000000", ""),
        ("not_equivalent", None, "nine u"),
        (None, None, ""),
    ]
    assert page.text("#alarm") == "Exported, but it can't be scored yet: 1 entry is undecided."


def test_what_was_exported_can_be_imported(page: Page, tmp_path: Path) -> None:
    """Decisions on another packet, or impossible ones, are refused and said so."""
    packet = packet_of(("It is so.",) * 3)
    shown(page, tmp_path, packet)
    told = decided(packet, decide=lambda entry: undecided(packet).decisions[0].model_copy(
        update={"entry": entry.entry, "decision": "uncertain"}
    ))  # fmt: skip
    impossible = (told.decisions[0].model_copy(update={"decision": "equivalent", "reference": "r-000011"}),)
    said = [
        imported(page, tmp_path / "told.json", value.to_bytes())
        for value in (
            told.model_copy(update={"packet": "sha256:" + "0" * 64}),
            told,
            told.model_copy(update={"decisions": impossible}),
        )
    ]
    assert said[0] == "The decisions are about another packet; nothing was imported.|"
    assert said[1] == "|Imported: 3 added, 0 changed, 0 dropped, 0 notes; 3 of 3 decided. Confirm the statement again."
    assert said[2] == "asks: The file leaves 2 entries undecided that you decided."
    page.run("document.getElementById('take-over').click()")
    assert page.text("#alarm") == "1 decision of the file isn't possible here, and left out."
    assert kept(page) == [("uncertain", "")] * 3


def test_everything_has_a_name_for_a_screen_reader(page: Page, tmp_path: Path) -> None:
    """Buttons, fields, lists and the places where news are told."""
    shown(page, tmp_path, packet_of(("Nobody has 9 cats.",)))
    page.call("Accessibility.enable")
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    named: dict[str, list[str]] = {}
    for node in nodes:
        role = node.get("role", {}).get("value")
        named.setdefault(role, []).append(node.get("name", {}).get("value", ""))
    assert "" not in named["button"] + named["textbox"] + named["region"] + named["heading"]
    assert "Not equivalent N" in named["button"]
    assert any(name.startswith("1 Nine cats came. rests on S1, S2: as the candidate") for name in named["button"])
    assert {"status", "alert", "main", "banner", "navigation", "group", "region"} <= set(named)
    assert page.run("document.activeElement.id") in {"", "heading"}
    page.press("n")
    assert page.run("document.activeElement.id") == "heading"


def test_marks_are_the_same_for_every_candidate(page: Page, tmp_path: Path) -> None:
    """Numbers, negations and names, and a frame about what the other side lacks; no colour says right or wrong."""
    shown(page, tmp_path, packet_of(("Nobody at Kestrel saw nine cats.",)))
    marks = "[...document.querySelectorAll('#candidate mark')].map(mark => [mark.textContent, mark.className])"
    assert page.run(marks) == [["Nobody", "negation differs"], ["Kestrel", "name differs"], ["nine", "number"]]


def test_a_browser_that_keeps_nothing_says_so(page: Page, tmp_path: Path) -> None:
    """Before an hour of work is lost."""
    page.call(
        "Page.addScriptToEvaluateOnNewDocument",
        source="Storage.prototype.setItem = () => { throw new Error('full'); };",
    )
    shown(page, tmp_path, packet_of(("It is so.",) * 2))
    page.press("n")
    assert page.text("#alarm") == "This browser keeps nothing: export your decisions before you close the page."
    assert page.text("#heading") == "Entry 2 of 2: undecided"


def test_the_export_names_a_person_only_who_says_so(page: Page, tmp_path: Path) -> None:
    """Without the statement nobody is a person, and the export can't be scored."""
    shown(page, tmp_path, packet_of(("It is so.",)))
    page.press("n")
    page.press("o")
    page.press("Tab")
    page.press("Tab")
    page.press("Tab")
    page.press("Enter")
    told = json.loads(page.downloaded().read_bytes())["reviewer"]
    assert told == {"attestation": "", "kind": None, "name": ""}
    assert page.text("#attestation") == ATTESTATION
