"""Whose passages are, and when they hold."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from runner.core.boundaries import Boundaries, bounded, scope_problems, scoped
from runner.core.corpus import Scope
from runner.core.passages import Passage

SOURCES = ["harbour/a.md", "harbour/b.md", "c.md"]


def scope(*include: str, **keys: Any) -> Scope:
    return Scope(include=include, **keys)


SCOPES = (
    scope("harbour/*", workspace="harbour", status="expired"),
    scope("**/a.md", known_from="2025-01-09T00:00:00Z", status="live"),
    scope("harbour/b.md", expires="1970-01-01T00:00:10Z", workspace=""),
)


def test_later_scopes_win_key_by_key() -> None:
    """What a later one doesn't say, an earlier one may; "" is everybody's."""
    assert scoped(SOURCES, SCOPES) == {
        "harbour/a.md": Boundaries("harbour", "live", 1_736_380_800, None),
        "harbour/b.md": Boundaries("", "expired", None, 10),
    }


def test_passages_get_the_boundaries_of_their_source() -> None:
    """One of which nothing is declared stays as it is."""
    passages = [Passage(n, source, 0, 1, source, "x") for n, source in enumerate(SOURCES, 1)]
    first, second, third = bounded(passages, scoped(SOURCES, SCOPES))
    assert (first.workspace, first.status, first.known_from_s, first.expires_s) == ("harbour", "live", 1736380800, None)
    assert (second.workspace, second.status, second.known_from_s, second.expires_s) == ("", "expired", None, 10)
    assert third is passages[2]


def test_what_can_not_be_is_told() -> None:
    """A glob without a file, and a source that is over before it begins."""
    scopes = (
        *SCOPES,
        scope("harbor/*", "c.md", workspace="harbour"),
        scope("**/b.md", known_from="1970-01-01T00:00:10Z"),
    )
    assert [str(problem) for problem in scope_problems(SOURCES, scopes, "corpus.toml")] == [
        "corpus.toml: scopes[3].include: 'harbor/*' matches no file",
        "corpus.toml: harbour/b.md: it expires before it is known",
    ]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({}, "workspace, status, known_from or expires is needed"),
        ({"workspace": "Harbour"}, "should match pattern"),
        ({"status": "gone"}, "'live', 'deleted' or 'expired'"),
        ({"known_from": "2025-01-09"}, "is not an instant"),
        ({"expires": 5}, "valid string"),
    ],
)
def test_a_scope_says_something_that_there_is(keys: dict[str, Any], message: str) -> None:
    """No empty scope, no odd name, status or instant."""
    with pytest.raises(ValidationError, match=message):
        scope("**", **keys)
