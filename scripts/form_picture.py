"""Draw the form of a packet as Chromium shows it, for pages that show it: an SVG of plain boxes, lines and texts.

    .venv/bin/python scripts/form_picture.py PACKET OUT.svg [--keys 1nnm] [--width 1280] [--height 0] [--find WORDS]
        [--seconds 20]

PACKET is a review's `packet.json`. `--keys` are pressed first, one every so many seconds by the page's clock; then
the first entry from there on is shown whose candidate has WORDS. Without a height all of the page is drawn. Every text
is as wide as it is in the browser, whatever fonts the viewer has.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from runner.adjudicate.form import render_form
from runner.core.reconsolidation.packet import Packet
from tests.fakes.chromium import Page, page_of

DRAW = Path(__file__).with_name("form_picture.js")


def picture(page: Page, width: int, height: int) -> str:
    """What `page` shows in a window of this size, 0 for one as high as the page, as an SVG."""
    page.resize(width, height or 400)
    if not height:
        height = int(page.run("document.documentElement.scrollHeight"))
        page.resize(width, height)
    page.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))")
    drawn = "\n".join(page.run(DRAW.read_text("utf-8")))
    title = "The form of a review, drawn from the page as a browser shows it."
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="system-ui, sans-serif" '
        f'role="img" aria-label="{title}">\n<rect width="{width}" height="{height}" fill="#fff"/>\n{drawn}\n'
        f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" fill="none" stroke="#767676"/>\n</svg>\n'
    )


def find(page: Page, words: str) -> None:
    """The first entry from here on is shown whose candidate has `words`."""
    count = int(page.run("JSON.parse(document.getElementById('data').textContent).entries.length"))
    while words not in page.text("#candidate") and count:
        page.press("ArrowRight")
        count -= 1


def main() -> int:
    """The program; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packet", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--keys", default="")
    parser.add_argument("--find", default="")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--height", type=int, default=0)
    chosen = parser.parse_args()
    program = next((name for name in ("chromium", "chromium-browser", "google-chrome") if shutil.which(name)), "")
    if not program:
        sys.stderr.write("there is no Chromium here: make chromium\n")
        return 3
    packet = Packet.from_bytes(chosen.packet.read_bytes(), str(chosen.packet))
    with tempfile.TemporaryDirectory(prefix="pairbench-picture-") as name, page_of(program, Path(name) / "b") as page:
        (Path(name) / "form.html").write_bytes(render_form(packet))
        page.resize(chosen.width, chosen.height or 900)
        page.open(Path(name) / "form.html")
        page.run(f"(() => {{ let now = 0; performance.now = () => now += {1000 * chosen.seconds}; }})()")
        for key in chosen.keys:
            page.press(key)
        if chosen.find:
            find(page, chosen.find)
        page.run("document.activeElement.blur(); scrollTo(0, 0)")
        chosen.out.write_text(picture(page, chosen.width, chosen.height), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
