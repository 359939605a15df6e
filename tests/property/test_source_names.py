"""Names of sources lead back to them, and stand in a column of a TREC file."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runner.core.sources import SourceIds, document_id, document_id_fault, document_path, source_id_problems, trec_id

words = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=40)
paths = st.lists(words.filter(lambda word: "/" not in word), min_size=1, max_size=4).map("/".join)


@given(words)
def test_documents_come_back_from_their_paths(name: str) -> None:
    """Whatever an id is made of, its path is one file name of plain ASCII, and gives it back."""
    path = document_path("docs", name)
    assert path.isascii()
    assert path.count("/") == 1
    assert document_id("docs", path) == name


@given(words)
def test_sound_ids_fit_into_a_file_name(name: str) -> None:
    """What isn't refused takes at most 204 bytes as a file name."""
    if not document_id_fault(name):
        assert len(document_path("docs", name)) <= len("docs/") + 204


@given(paths)
def test_names_are_one_word(path: str) -> None:
    """TREC files are split at white space: a name is never cut, nor empty."""
    assert trec_id(path).split() == [trec_id(path)]


@given(st.lists(paths, max_size=8, unique=True), st.lists(words, max_size=4, unique=True))
def test_names_lead_back_unless_two_are_told_of(files: list[str], documents: list[str]) -> None:
    """Each source has a name of its own, or is complained about."""
    listed = list(dict.fromkeys([*files, *(document_path("docs", name) for name in documents)]))
    found = SourceIds.of(listed, ["docs"])
    told = {problem.key for problem in source_id_problems(listed, ["docs"], "c")}
    for path in listed:
        assert found.paths[found.ids[path]] == path or path in told
