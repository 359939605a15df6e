"""The review form, shown in a browser, and what a person does with it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from runner.adjudicate.form import render_form
from runner.core.reconsolidation.packet import Decisions, Entry, Packet, PacketReference, PacketSource
from tests.fakes.reviews import PERSON

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakes.chromium import Page

HOSTILE = (
    "<script>pwned = 1</script><img src=x onerror='pwned = 2'></script><!--",
    "]]></style><svg onload=pwned=3> {{ 7 * 7 }} ${7*7} @@DATA@@ __proto__",
    "abc\u202egnp.exe\u2066 zero\u200bwidth\ufeff \x1b[31mred\x07 nul\x00 line\u2028sep",
    "javascript:pwned=4 <a href='https://example.org/x' onclick=pwned=5>press n</a>",
    "e" + "\u0301" * 60 + " " + "long" * 400,
)
_NEWS = """new Promise(done => { const look = () => {
  const [alarm, status, ask] = ['alarm', 'status', 'ask'].map(name => document.getElementById(name));
  const text = ask.open ? 'asks: ' + document.getElementById('ask-text').textContent : alarm.textContent + '|' + status.textContent;
  text.length > 1 ? done(text) : setTimeout(look, 5); }; look(); })"""


def packet_of(candidates: tuple[str, ...], texts: tuple[str, ...] = HOSTILE) -> Packet:
    """An entry for each candidate, one other text of each is of `texts`; the first of two references has its support."""
    made = []
    for number, candidate in enumerate(candidates):
        names = [f"s-{number:05d}{place}" for place in range(3)]
        statements = ("Nobody saw 9 cats.", texts[number % len(texts)], "We ask Kestrel: it isn't ready.")
        references = tuple(
            PacketReference(reference=f"r-{number:05d}{place}", meaning=meaning, support=tuple(names[: 2 - place]))
            for place, meaning in enumerate(("Nine cats came.", texts[(number + 1) % len(texts)]))
        )
        made.append(
            Entry(
                entry=f"e-{number:05d}",
                candidate=candidate,
                sources=tuple(
                    PacketSource(
                        source=name, statement=text, attribution="ana", scope="<b>team", event=f"v-{place % 2}"
                    )
                    for place, (name, text) in enumerate(zip(names, statements, strict=True))
                ),
                support=tuple(names[:2]),
                references=references,
            )
        )
    return Packet(rules=("One rule, in full.", "Another."), entries=tuple(made))


def shown(page: Page, folder: Path, packet: Packet) -> None:
    """The form of `packet` is open."""
    (folder / "form.html").write_bytes(render_form(packet))
    page.open(folder / "form.html")


def finish(page: Page) -> Decisions:
    """By keyboard: the overview is opened, name and statement are given, and what comes down is read."""
    page.press("o")
    page.press("Tab")
    page.type(PERSON)
    page.press("Tab")
    page.press(" ")
    page.press("Tab")
    page.press("Enter")
    return Decisions.from_bytes(page.downloaded().read_bytes(), "export")


def kept(page: Page) -> list[tuple[str | None, str]]:
    """Decision and note of every entry, as the browser keeps them."""
    held = page.run("Object.entries(localStorage).filter(([name]) => /^pairbench-review:sha256:[0-9a-f]+$/.test(name))")
    found = page.run(f"JSON.parse({json.dumps(held[0][1])}).decisions.map(one => [one.decision, one.note])")
    return [(decision, note) for decision, note in found]


def imported(page: Page, file: Path, data: bytes) -> str:
    """What the form says to a file with this content: its alarm and its status, or what it asks."""
    file.write_bytes(data)
    page.run("document.getElementById('alarm').textContent = document.getElementById('status').textContent = ''")
    chosen = page.call("Runtime.evaluate", expression="document.getElementById('import')")["result"]["objectId"]
    page.call("DOM.setFileInputFiles", files=[str(file)], objectId=chosen)
    return news(page)


def news(page: Page) -> str:
    """The next thing that the form says or asks, where it says nothing yet."""
    return str(page.run(_NEWS))


def clicked(page: Page, selector: str, times: int = 1) -> None:
    """Somebody clicked so often, as fast as a double click is."""
    box = page.run(
        f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])"
        f"(document.querySelector({selector!r}).getBoundingClientRect())"
    )
    for count in range(1, times + 1):
        for kind in ("mousePressed", "mouseReleased"):
            page.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=count)


def another_window(page: Page, path: Path) -> Page:
    """A second page of the same browser, in which the form is open too."""
    target = page.call("Target.createTarget", url="about:blank")["targetId"]
    session = page.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    other = replace(page, session=session, events=[], _number=1_000_000)
    other.call("Page.enable")
    other.open(path)
    return other
