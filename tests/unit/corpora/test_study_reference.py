"""The reference of the study file names what the loader takes, and the page on corpora has the figures of the locks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runner.core.corpus import (
    BeirPart,
    CorpusFile,
    CorpusLock,
    FilesPart,
    GitPart,
    GivenPassage,
    IrPart,
    Scope,
    Splitter,
    WheelPart,
)
from runner.core.study import (
    Arm,
    Caps,
    CheckLabel,
    ClaudeCodeClient,
    CodexClient,
    CommandClient,
    Label,
    LabelsFile,
    Limits,
    LiveModel,
    McpServer,
    MessagesClient,
    ReplayModel,
    RetrievalClient,
    Schedule,
    ScriptedModel,
    SourceLabel,
    StudyFile,
    Task,
    TaskFile,
)
from runner.core.systems import Bm25System, DenseSystem, HybridSystem, McpSystem

if TYPE_CHECKING:
    from pydantic import BaseModel

ROOT = Path(__file__).parents[3]
REFERENCE = (ROOT / "docs" / "reference" / "study.md").read_text("utf-8")
DOCUMENTED = set(re.findall(r"`(?:(?:[a-z_]+(?:\[\])?)?\.)?([a-z0-9_]+)`", REFERENCE))


@pytest.mark.parametrize(
    "model",
    [
        StudyFile,
        ClaudeCodeClient,
        CodexClient,
        MessagesClient,
        RetrievalClient,
        DenseSystem,
        Bm25System,
        HybridSystem,
        McpSystem,
        CommandClient,
        ScriptedModel,
        LiveModel,
        ReplayModel,
        Caps,
        Limits,
        Schedule,
        Arm,
        McpServer,
        Task,
        TaskFile,
        LabelsFile,
        Label,
        SourceLabel,
        CheckLabel,
        CorpusFile,
        WheelPart,
        FilesPart,
        GitPart,
        BeirPart,
        IrPart,
        Scope,
        GivenPassage,
        Splitter,
        CorpusLock,
    ],
)
def test_every_key_is_documented(model: type[BaseModel]) -> None:
    """A key that the loader takes stands in the reference."""
    assert set(model.model_fields) - DOCUMENTED == set()


def test_the_defaults_of_limits_are_the_documented_ones() -> None:
    """The table of limits is complete, in order, and true."""
    section = REFERENCE.split("## `[limits]`")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([a-z_]+)` \| ([0-9]+) \|", section, re.MULTILINE)
    assert {name: int(value) for name, value in rows} == Limits().model_dump()


@pytest.mark.parametrize("name", ["h11", "notes", "structlog"])
def test_the_figures_of_the_corpora_are_those_of_their_locks(name: str) -> None:
    """The table on the page is no second truth."""
    lock = json.loads((ROOT / "corpora" / name / "corpus.lock.json").read_bytes())
    page = (ROOT / "docs" / "explanation" / "corpora.md").read_text("utf-8")
    (row,) = re.findall(rf"^\| `{name}` \|.*", page, re.MULTILINE)
    assert f"| {lock['files']} | {lock['bytes']:,} | {lock['passages']} |" in row
