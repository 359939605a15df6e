"""The report: one self-contained HTML page, the same bytes for the same summary."""

from __future__ import annotations

import base64
from importlib import resources
from typing import TYPE_CHECKING, Final

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup

from runner.core.canonical import sha256_digest
from runner.publish import formatting
from runner.publish.listings import Listings
from runner.publish.page import PageTexts

if TYPE_CHECKING:
    from runner.core.summary import Summary

_TEMPLATES: Final = ("report.html", "figures.html")


def render_report(summary: Summary) -> bytes:
    """The page of `summary` in UTF-8: it loads nothing, runs no script, and computes no figure."""
    style = _read("report.css")
    environment = Environment(
        loader=DictLoader({name: _read(name) for name in _TEMPLATES}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    page = environment.get_template("report.html").render(
        summary=summary,
        texts=PageTexts(summary),
        listings=Listings(summary),
        counted=formatting.counted,
        level=formatting.level(summary.resampling.level_ppm),
        digest=summary.digest(),
        # The style sheet is part of the package; nothing of a study is in it.
        style=Markup(style),  # noqa: S704
        style_source=f"sha256-{_base64_digest(style)}",
    )
    return page.encode("utf-8")


def _read(name: str) -> str:
    return resources.files("runner.publish").joinpath("templates", name).read_text("utf-8")


def _base64_digest(text: str) -> str:
    hexadecimal = sha256_digest(text.encode("utf-8")).removeprefix("sha256:")
    return base64.b64encode(bytes.fromhex(hexadecimal)).decode("ascii")
