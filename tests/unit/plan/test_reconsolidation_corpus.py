"""A reconsolidation corpus that contradicts itself, or isn't as it was frozen, is refused with all that is wrong."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runner.adapters.harness import package_sources
from runner.core.canonical import canonical_bytes
from runner.core.errors import StudyError
from runner.core.reconsolidation.corpus import CATEGORIES
from runner.plan.reconsolidation import SCORER, freeze_reconsolidation, read_reconsolidation
from tests.fakes.files import MemoryFiles

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = Path(__file__).resolve().parents[3] / "corpora" / "reconsolidation" / "v1"
HERE = Path("/corpus/v1")
MANIFEST = HERE / "manifest.json"
SOURCES = {SCORER: (Path(__file__).resolve().parents[3] / SCORER).read_bytes()}
SPLITS = {name: json.loads((FOLDER / f"{name}.json").read_bytes()) for name in ("development", "holdout")}


def files_of(splits: dict[str, Any]) -> MemoryFiles:
    files = MemoryFiles()
    for name, value in splits.items():
        files.write(HERE / f"{name}.json", canonical_bytes(value) + b"\n")
    return files


def told(splits: dict[str, Any]) -> str:
    with pytest.raises(StudyError) as caught:
        freeze_reconsolidation(MANIFEST, files_of(splits), SOURCES)
    return caught.value.diagnostics()


def frozen() -> MemoryFiles:
    files = files_of(SPLITS)
    freeze_reconsolidation(MANIFEST, files, SOURCES)
    return files


def refused(files: MemoryFiles, sources: dict[str, bytes] | None = None) -> str:
    with pytest.raises(StudyError) as caught:
        read_reconsolidation(MANIFEST, files, SOURCES if sources is None else sources)
    return caught.value.diagnostics()


def case(splits: dict[str, Any], identity: str) -> Any:
    return next(one for split in splits.values() for one in split["cases"] if one["id"] == identity)


def quantity(splits: dict[str, Any]) -> Any:
    """Four live seeds; s1 and s4 are one class; three probes."""
    return case(splits, "dev-quantity-1")


def cause(splits: dict[str, Any]) -> Any:
    """Four live seeds, no class, one hypothesis of s1, s2 and s3."""
    return case(splits, "dev-cause-1")


def put(path: str, value: Any, which: Callable[[Any], Any] = quantity) -> Callable[[Any], None]:
    """A change that puts `value` at `path` (`seeds.0.scope`) of a case."""

    def change(splits: Any) -> None:
        *way, last = path.split(".")
        here = which(splits)
        for part in way:
            here = here[int(part) if part.isdecimal() else part]
        here[int(last) if last.isdecimal() else last] = value

    return change


def without_category(splits: Any) -> None:
    cases = splits["holdout"]["cases"]
    splits["holdout"]["cases"] = [one for one in cases if one["category"] != "summary"]


def same_case(splits: Any) -> None:
    splits["holdout"]["cases"].append(copy.deepcopy(quantity(splits)))


def case_twice(splits: Any) -> None:
    splits["development"]["cases"].append(copy.deepcopy(quantity(splits)))


def few(splits: Any) -> None:
    for split in splits.values():
        found = {one["category"]: one for one in split["cases"]}
        split["cases"] = list(found.values())[:11]


INCONSISTENT: dict[str, tuple[Callable[[Any], None], str]] = {
    "classes overlap": (put("duplicate_classes", [["s1", "s4"], ["s4", "s2"]]), "'s4' is also a member of class 0: classes overlap"),
    "class of one": (put("duplicate_classes", [["s1", "s4"], ["s2"]]), "a class has fewer than two members"),
    "member twice": (put("duplicate_classes", [["s1", "s4", "s4"]]), "'s4' is a member twice"),
    "unknown member": (put("duplicate_classes", [["s1", "s4", "s9"]]), "there is no seed 's9'"),
    "scope differs": (put("duplicate_classes", [["s1", "s4", "s2"]]), "its members differ in scope"),
    "attribution differs": (put("seeds.3.attribution", "ben"), "its members differ in attribution"),
    "dead member": (put("seeds.3.status", "expired"), "'s4' is expired and can't be a member"),
    "dead survivor": (put("seeds.1.status", "deleted"), "'s2' is deleted and can't be a survivor"),
    "survivor missing": (put("required_survivors", ["s1", "s2", "s3"]), "the live seed 's4' is missing"),
    "survivor twice": (put("required_survivors", ["s1", "s1", "s2", "s3", "s4"]), "'s1' stands twice"),
    "unknown survivor": (put("required_survivors", ["s1", "s2", "s3", "s4", "s8"]), "there is no seed 's8'"),
    "dead support": (put("seeds.2.status", "expired", cause), "'s3' is expired and can't be support"),
    "unknown support": (put("hypotheses.0.support", ["s1", "s2", "s7"], cause), "there is no seed 's7'"),
    "support twice": (put("hypotheses.0.support", ["s1", "s2", "s2"], cause), "'s2' stands twice"),
    "support of one": (put("hypotheses.0.support", ["s1"], cause), "the support of 'h1' has fewer than two independent events"),
    "support of one event": (put("seeds.1.event", "e1", lambda s: case(s, "dev-cause-2")), "the support of 'h1' has fewer than two independent events"),
    "no meaning": (put("hypotheses.0.meaning", "", cause), "the meaning is empty"),
    "meaning is a seed": (put("hypotheses.0.meaning", "The runner has a disk of 80 GB.", cause), "'h1' repeats a seed and connects nothing"),
    "unlabelled duplicate": (put("duplicate_classes", []), "'s1' and 's4' say the same and share no class"),
    "seed twice": (put("seeds.1.id", "s1"), "seed 's1' stands twice"),
    "probe twice": (put("probes.1.id", "p1"), "probe 'p1' stands twice"),
    "question twice": (put("probes.1.question", "How many rows does Kestrel's importer read at a time?"), "stands twice"),
    "no answers": (put("probes.1.answers", []), "probe 'p2' has no answer"),
    "no probe": (put("probes", []), "there is no probe"),
    "answer nowhere": (put("probes.1.answers", ["4,000 rows"]), "the answer '4,000 rows' of 'p2' stands in no statement and no hypothesis"),
    "answer of the dead": (put("probes.0.answers", ["The port of the metrics exporter is 9100."], lambda s: case(s, "dev-correction-1")), "stands in seeds that are no longer live alone"),
    "answer twice": (put("probes.1.answers", ["5000 rows", "5000  rows"]), "the answer '5000 rows' stands twice"),
    "empty statement": (put("seeds.0.statement", ""), "statement '' is empty"),
    "hidden character": (put("seeds.0.statement", "Rows\u200b."), "holds what can't be seen"),
    "not an instant": (put("seeds.0.evidence_time", "yesterday"), "'yesterday' is not an instant"),
    "not in UTC": (put("seeds.0.evidence_time", "2026-01-07T09:00:00+02:00"), "is not in UTC"),
    "later than the clock": (put("seeds.0.evidence_time", "2031-01-07T09:00:00Z"), "the evidence of 's1' is later than the clock"),
    "no expired seed": (put("category", "expiry"), "the category 'expiry' needs a seed that is expired"),
    "no deleted seed": (put("category", "correction"), "the category 'correction' needs a seed that is deleted"),
    "no class": (put("category", "equivalent", cause), "the category 'equivalent' needs a duplicate class"),
    "no hypothesis": (put("category", "summary"), "the category 'summary' needs a hypothesis"),
    "not one event": (put("category", "same_evidence"), "no two members of a class are of one event"),
    "category missing": (without_category, "no case of the category 'summary'"),
    "shared case": (same_case, "case 'dev-quantity-1' also stands in /corpus/v1/development.json"),
    "shared statement": (same_case, "the statement 'the importer reads 500 rows at a time.' also stands in"),
    "case twice": (case_twice, "case 'dev-quantity-1' stands twice"),
    "few cases": (few, "there are fewer than 24 cases in all"),
    "other clock": (lambda s: s["holdout"].update(clock="2026-09-01T00:00:00Z"), "the clock differs from that of"),
    "other budget": (lambda s: s["holdout"]["recall_budget"].update(facts=9), "the recall budget differs from that of"),
    "wrong split": (lambda s: s["holdout"].update(split="development"), "0 files hold the split 'holdout', not one"),
    "unknown category": (put("category", "guess"), "must be"),
    "unknown key": (put("hint", "s1"), "unknown key"),
}  # fmt: skip


@pytest.mark.parametrize("name", INCONSISTENT)
def test_an_inconsistency_is_named(name: str) -> None:
    """With the file, the case and the key that it is about."""
    change, expected = INCONSISTENT[name]
    splits = copy.deepcopy(SPLITS)
    change(splits)
    assert expected in told(splits)


def test_everything_is_told_at_once() -> None:
    """Three faults in two files are three lines."""
    splits = copy.deepcopy(SPLITS)
    put("seeds.3.attribution", "ben")(splits)
    put("required_survivors", ["s1", "s2", "s3"], cause)(splits)
    put("probes", [], lambda s: case(s, "hold-time-1"))(splits)
    lines = told(splits).splitlines()
    assert [line.split(": ")[0] for line in lines].count("/corpus/v1/development.json") == 2
    assert "/corpus/v1/holdout.json: cases[3].probes: there is no probe, in case 'hold-time-1'" in lines


def test_the_shipped_corpus_is_as_it_was_frozen() -> None:
    """Every category in each split, 28 cases, and a manifest that fits corpus and scorer."""
    files = MemoryFiles()
    for path in FOLDER.iterdir():
        files.write(HERE / path.name, path.read_bytes())
    corpus = read_reconsolidation(MANIFEST, files, package_sources())
    assert sum(1 for _ in corpus.cases()) == 28
    assert {split: {case.category for case in held.cases} for split, held in corpus.splits.items()} == {
        "development": set(CATEGORIES),
        "holdout": set(CATEGORIES),
    }


@pytest.mark.parametrize("name", ["development.json", "holdout.json"])
def test_a_changed_file_is_drift(name: str) -> None:
    """Even if what it says is the same."""
    files = frozen()
    data = files.read(HERE / name)
    assert data is not None
    files.write(HERE / name, data + b" ")
    assert (
        refused(files) == f"/corpus/v1/{name}: it isn't what the manifest froze (restore it, or make another version)"
    )


def test_a_changed_scorer_is_drift() -> None:
    """A figure of another scorer isn't a figure of v1."""
    assert f"{SCORER}: it isn't what the manifest froze" in refused(frozen(), {SCORER: b"pass\n"})
    assert f"{SCORER}: the manifest lists it, and it isn't there" in refused(frozen(), {})


def test_a_missing_file_and_one_more_are_drift() -> None:
    """A manifest lists exactly what is in its folder."""
    files = frozen()
    files.remove(HERE / "holdout.json")
    files.write(HERE / "more.json", b"{}\n")
    said = refused(files)
    assert "/corpus/v1/holdout.json: the manifest lists it, and it isn't there" in said
    assert "/corpus/v1/more.json: the manifest doesn't list it" in said


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("control_references", "sha256:" + "0" * 64, "control_references: they aren't those of this corpus"),
        ("scorer", {}, "scorer: it must pin"),
        ("files", {}, "files: it must list development.json and holdout.json and nothing else"),
    ],
)
def test_a_manifest_pins_everything(key: str, value: Any, expected: str) -> None:
    """None of its entries can be left out or changed."""
    files = frozen()
    manifest = json.loads(files.read(MANIFEST) or b"")
    files.write(MANIFEST, canonical_bytes({**manifest, key: value}) + b"\n")
    assert expected in refused(files)


def test_a_frozen_corpus_is_never_frozen_again() -> None:
    """A second time changes nothing; after a change it is refused, and the manifest stays."""
    files = frozen()
    before = files.read(MANIFEST)
    freeze_reconsolidation(MANIFEST, files, SOURCES)
    changed = copy.deepcopy(SPLITS)
    put("seeds.0.session", "c2")(changed)
    files.write(HERE / "development.json", canonical_bytes(changed["development"]) + b"\n")
    with pytest.raises(StudyError, match="a frozen corpus never changes"):
        freeze_reconsolidation(MANIFEST, files, SOURCES)
    assert files.read(MANIFEST) == before


def test_without_a_manifest_there_is_no_corpus() -> None:
    """And the message says how to make one."""
    assert refused(files_of(SPLITS)) == (
        "/corpus/v1/manifest.json: there is no such manifest "
        "(freeze it: pairbench corpora lock /corpus/v1/manifest.json)"
    )
