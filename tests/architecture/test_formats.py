"""The page of formats lists what the code persists, and nothing else."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path
from typing import TYPE_CHECKING

import runner
from runner.core.documents import Document

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "formats.md"


def test_the_page_lists_every_document_with_its_version() -> None:
    """Each document class has one row with its version, and each row has its class."""
    for module in pkgutil.walk_packages(runner.__path__, "runner."):
        importlib.import_module(module.name)
    found = {(document.FORMAT, str(document.VERSION)) for document in documents(Document)}
    listed = set(re.findall(r"^\| `(pairbench/[a-z-]+)` \| (\d+) \|", PAGE.read_text("utf-8"), re.MULTILINE))
    assert found == listed


def documents(base: type[Document]) -> Iterator[type[Document]]:
    """Every class below `base` that the product defines."""
    for child in base.__subclasses__():
        if child.__module__.startswith("runner."):
            yield child
        yield from documents(child)
