"""The report: one self-contained HTML page, the same bytes for the same summary."""

from __future__ import annotations

import base64
from importlib import resources
from typing import TYPE_CHECKING, Final

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup

from runner.core.canonical import sha256_digest
from runner.core.visible import visible
from runner.publish import formatting
from runner.publish.accounts import Accounts
from runner.publish.conditions import Conditions
from runner.publish.evidence import Evidence
from runner.publish.headlines import census_line
from runner.publish.memories import Memories
from runner.publish.origins import made_from
from runner.publish.page import PageTexts
from runner.publish.retrieval import Retrieval

if TYPE_CHECKING:
    from runner.core.summary import Summary

_TEMPLATES: Final = ("report.html", "figures.html", "retrieval.html", "memories.html")


def render_report(summary: Summary) -> bytes:
    """The page of `summary` in UTF-8: it loads nothing, runs no script, and computes no figure."""
    style = _read("report.css")
    environment = Environment(
        loader=DictLoader({name: _read(name) for name in _TEMPLATES}),
        autoescape=True,
        finalize=_inert,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    page = environment.get_template("report.html").render(
        summary=summary,
        texts=PageTexts(summary),
        evidence=Evidence(summary),
        accounts=Accounts(summary),
        conditions=Conditions(summary),
        memories=None if summary.reconsolidation is None else Memories(summary, summary.reconsolidation),
        retrieval=None if summary.retrieval is None else Retrieval(summary, summary.retrieval),
        made_from=made_from(summary),
        census_line=census_line(summary),
        counted=formatting.counted,
        one_line=formatting.one_line,
        level=formatting.level(summary.resampling.level_ppm),
        power=formatting.level(summary.resampling.power_ppm),
        # The style sheet is part of the package; nothing of a study is in it.
        style=Markup(style),  # noqa: S704
        style_source=f"sha256-{_base64_digest(style)}",
    )
    return page.encode("utf-8")


def _inert(value: object) -> object:
    """Every text on its way into the page, whoever wrote it: nothing in it acts, turns the writing, or is hidden."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _read(name: str) -> str:
    return resources.files("runner.publish").joinpath("templates", name).read_text("utf-8")


def _base64_digest(text: str) -> str:
    hexadecimal = sha256_digest(text.encode("utf-8")).removeprefix("sha256:")
    return base64.b64encode(bytes.fromhex(hexadecimal)).decode("ascii")
