"""Foreign answers become results by a declared expression; what can't be mapped keeps its rank."""

from __future__ import annotations

import re
import signal

import pytest
from retrieval.mapping import error_of, results_of
from retrieval.ranking import QueryError

PATTERN = re.compile(
    r"(?m)^\[\d+\] (?:id=(?P<id>\d+) )?(?:source=(?P<source>\S*) )?"
    r"(?:bytes=(?P<start>\d+)-(?P<end>\d+) )?(?:score=(?P<score>\S+))?"
)


def _results(text: str, depth: int = 10, empty: str | None = None) -> tuple[list[dict[str, object]], int]:
    return results_of(text, PATTERN, None if empty is None else re.compile(empty), depth)


def test_named_groups_become_a_result() -> None:
    """Numbers are numbers, scores whole millionths, and what wasn't given is left out."""
    assert _results("[1] id=7 source=a/b.py bytes=0-80 score=0.25\ntext\n[2] source=c.md score=-1e-3") == (
        [
            {"id": 7, "source": "a/b.py", "start": 0, "end": 80, "score_e6": 250000},
            {"source": "c.md", "score_e6": -1000},
        ],
        0,
    )


def test_a_result_without_source_keeps_its_rank_and_is_counted() -> None:
    """The second of three names nothing, the third only an id."""
    text = "[1] source=a.md \n[2] source= \n[3] id=9 "
    assert _results(text) == ([{"source": "a.md"}, {}, {"id": 9}], 2)


def test_the_order_is_the_servers_and_ends_at_the_depth() -> None:
    """Scores change nothing; what stands below the depth isn't counted either."""
    text = "[1] source=a score=0.1\n[2] source=b score=0.9\n[3] x"
    assert _results(text, depth=2) == ([{"source": "a", "score_e6": 100000}, {"source": "b", "score_e6": 900000}], 0)


@pytest.mark.parametrize("score", ["nan", "inf", "1e300", "high"])
def test_a_score_that_is_no_number_is_null(score: str) -> None:
    """The result stays, and it is known that the server said one."""
    assert _results(f"[1] source=a score={score}") == ([{"source": "a", "score_e6": None}], 0)


def test_a_score_that_is_not_said_is_left_out() -> None:
    """The group took no part in the match."""
    assert _results("[1] source=a score=") == ([{"source": "a"}], 0)


@pytest.mark.parametrize("number", ["9" * 17, "9007199254740992", "٣"])
def test_a_number_beyond_what_json_holds_is_left_out(number: str) -> None:
    """Beyond 2**53 - 1, or in other digits than ASCII's."""
    assert _results(f"[1] id={number} source=a ") == ([{"source": "a"}], 0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no\n index", "the tool answered an error: no index"),
        ("x" * 300, f"the tool answered an error: {'x' * 200}"),
        (" \n", "the tool answered an error without a text"),
    ],
)
def test_an_error_is_one_line(text: str, said: str) -> None:
    """No longer than a reader needs; where it says nothing, that is said."""
    assert error_of(text) == said


def test_an_overlong_source_is_none() -> None:
    """A path has at most 4096 characters."""
    assert _results(f"[1] source={'a' * 4097} ") == ([{}], 1)


def test_an_answer_without_results_can_have_to_say_so() -> None:
    """Where the study declares what such an answer looks like, any other without results is a failed query."""
    assert _results("nothing to see") == ([], 0)
    assert _results("No passage found.", empty="^No passage") == ([], 0)
    with pytest.raises(QueryError, match="holds no result"):
        _results("{}", empty="^No passage")


def test_a_pattern_without_end_is_ended() -> None:
    """A catastrophic expression costs the query, not the trial; the alarm is put away again."""
    pattern = re.compile(r"(?P<source>(?:a+)+)$")
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(QueryError, match=r"took longer than 0\.05 s"):
        results_of("a" * 40 + "!", pattern, None, 10, seconds=0.05)
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_an_answer_of_megabytes_is_refused() -> None:
    """Four million characters are read, one more aren't."""
    with pytest.raises(QueryError, match="longer than 4000000 characters"):
        _results("x" * 4_000_001)
