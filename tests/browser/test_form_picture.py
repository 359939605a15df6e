"""Pictures of the form are drawn from the form: they say what it says, and nothing runs out of them."""

from __future__ import annotations

import html
import re
import runpy
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.fakes.chromium import page_of
from tests.fakes.forms import packet_of, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.fakes.chromium import Page

pytestmark = pytest.mark.chromium

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "howto" / "pictures"
TEMPLATE = ROOT / "runner" / "adjudicate" / "templates" / "form.html"


@pytest.fixture
def page(chromium: str, tmp_path: Path) -> Iterator[Page]:
    with page_of(chromium, tmp_path / "browser") as made:
        yield made


@pytest.fixture(scope="module")
def picture() -> Callable[[Page, int, int], str]:
    drawn: Callable[[Page, int, int], str] = runpy.run_path(str(ROOT / "scripts" / "form_picture.py"))["picture"]
    return drawn


def drawn_texts(svg: str) -> list[tuple[dict[str, str], str]]:
    """Each text with its attributes, in order."""
    return [
        (dict(re.findall(r'([\w-]+)="([^"]*)"', attributes)), html.unescape(text))
        for attributes, text in re.findall(r"<text ([^>]*)>([^<]*)</text>", svg)
    ]


def squeezed(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("width", [390, 1280])
def test_every_text_of_the_page_is_in_its_picture(
    page: Page, tmp_path: Path, picture: Callable[[Page, int, int], str], width: int
) -> None:
    """Hostile words too, as text, and words that break; each within its edges, and nothing but what can do nothing."""
    candidate = "Nobody at Kestrel saw nine cats & <b>dogs</b>. " + "long" * 100
    shown(page, tmp_path, packet_of((candidate,)))
    page.run("document.querySelectorAll('.unseen').forEach(one => one.remove())")
    svg = picture(page, width, 0)
    found = drawn_texts(svg)
    drawn = squeezed("".join(text for _, text in found))
    for part in ("#candidate", "#sources", "#references", "#bar", ".legend", "header"):
        assert squeezed(str(page.run(f"document.querySelector({part!r}).innerText"))) in drawn
    high = float(svg.partition('viewBox="0 0 ')[2].partition('"')[0].split()[1])
    outside = [
        text
        for told, text in found
        if not 0 <= float(told["x"]) <= width - float(told["textLength"]) or not 0 < float(told["y"]) < high
    ]
    assert outside == []
    assert set(re.findall(r"<(\w+)", svg)) == {"svg", "rect", "text", "line"}


@pytest.mark.parametrize("name", ["review-form.svg", "review-form-phone.svg", "review-overview.svg"])
def test_pictures_in_the_documentation_are_of_this_form(name: str) -> None:
    """Each button of the bar at the bottom is in them as the page has it now."""
    drawn = " ".join(text for _, text in drawn_texts((PICTURES / name).read_text("utf-8")))
    bar = TEMPLATE.read_text("utf-8").partition('<section id="bar"')[2].partition("</section>")[0]
    wanted = {"review-overview.svg": ["undo", "first", "back"]}.get(
        name, ["not-equivalent", "uncertain", "undo", "first", "show-overview"]
    )
    kind = "short" if "phone" in name else "long"
    for button in wanted:
        inside = re.search(rf'id="{button}"[^>]*>(.*?)</button>', bar)
        assert inside
        label = re.sub(rf'<span class="(?!{kind})[a-z]+">.*?</span>|<kbd.*?</kbd>', "", inside[1])
        assert re.sub(r"<[^>]+>", "", label).strip() in drawn
