"""Pages that point somewhere, and say something."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
MAKE = re.compile(r"(?:^\$ |`)(?:sudo |PAIRBENCH_ENGINE=private )?make ([a-z][a-z-]*)", re.MULTILINE)
TARGETS = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_between_pages_leads_somewhere(page: Path) -> None:
    """A reader who follows a link finds the page."""
    links = [link.split("#")[0] for link in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]
    assert [link for link in links if link and not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_make_target_that_a_page_names_exists(page: Path) -> None:
    """What a page says to type can be typed."""
    assert [name for name in MAKE.findall(page.read_text(encoding="utf-8")) if name not in TARGETS] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_is_a_placeholder(page: Path) -> None:
    """A page has a title and something below it."""
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert len(text.split()) > 30


def test_decisions_are_numbered_without_gaps() -> None:
    """A decision is cited by its number for as long as the project lives."""
    numbers = [int(page.name[:4]) for page in sorted((ROOT / "docs" / "decisions").glob("*.md"))]
    assert numbers == list(range(len(numbers)))


def test_the_readme_names_the_two_commands_first() -> None:
    """Whoever reads one screen knows what to type."""
    first_screen = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:20]
    assert any("make bench" in line for line in first_screen)
    assert any("make test" in line for line in first_screen)
