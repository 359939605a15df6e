"""What does the agent do next? One turn from one view: ask the memory, search, read, or answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateway.policy.answer import Excerpt, answer_text, best_block, chosen
from gateway.policy.findings import Line, grep_hits, memory_text, passages, read_lines
from gateway.policy.search import Place, places
from gateway.policy.words import Term, coverage, terms_of, weighed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateway.policy.view import Step, View

GREP = "Grep"
READ = "Read"
MAXIMUM_GREPS = 4
MAXIMUM_READS = 2
GREP_LINES = 60
READ_LINES = 60
LINES_BEFORE = 8
PASSAGES_ASKED = 5
# The memory's order counts as much as a word: so much for its first passage, one less for each that follows.
FIRST_PASSAGE_BONUS = 3
# Text without passages must share so many terms: "No passage found." holds a word of many a question.
FREE_TEXT_TERMS = 2
# Words that aren't spelt like code or names are looked for together, so many at a time.
WORDS_TOGETHER = 3
# So many of the question's terms close together, or all of them, or the definition of the most telling one, and no
# further search is needed.
ENOUGH_TERMS = 3
# A second place is read when the first left more than this share of the terms' weight open.
COVERED_PERCENT = 60


@dataclass(frozen=True)
class Turn:
    """An assistant message: text, and at most one tool call without its identifier."""

    content: tuple[dict[str, Any], ...]
    stop_reason: str


def call(words: str, tool: str, arguments: Mapping[str, Any]) -> Turn:
    """A turn that says `words` and calls the tool."""
    use = {"type": "tool_use", "name": tool, "input": dict(arguments)}
    return Turn(({"type": "text", "text": words}, use), "tool_use")


def final(text: str) -> Turn:
    """A turn that ends the conversation."""
    return Turn(({"type": "text", "text": text},), "end_turn")


def decide(view: View) -> Turn:
    """The next turn; a conversation has at most seven calls before its answer."""
    if not view.question:
        return final("There is no question in this conversation.")
    terms = terms_of(view.question)
    memory = view.memory_search
    if memory and not view.steps_with(memory):
        return call("I'll ask the memory first.", memory, _memory_arguments(view, memory))
    if memory:
        recalled = chosen(_recalled(view.steps_with(memory), memory, terms), terms)
        if recalled:
            return final(answer_text(recalled, terms))
    terms = weighed(terms, [hit.text for hit in _hits(view)])
    return _search(view, terms) or _read(view, terms) or final(_answer_from_workspace(view, terms))


def _memory_arguments(view: View, tool: str) -> dict[str, Any]:
    properties = view.tools[tool]
    query = properties.get("query")
    longest = query.get("maxLength") if isinstance(query, dict) else None
    text = view.question[:longest] if isinstance(longest, int) else view.question
    asked = properties.get("k")
    if not isinstance(asked, dict):
        return {"query": text}
    most = asked.get("maximum")
    return {"query": text, "k": min(PASSAGES_ASKED, most) if isinstance(most, int) else PASSAGES_ASKED}


def _recalled(steps: Sequence[Step], tool: str, terms: Sequence[Term]) -> list[Excerpt]:
    excerpts = []
    for step in steps:
        text = "" if step.failed else memory_text(step.result)
        found = passages(text)
        for place, passage in enumerate(found):
            citation = f"{passage.source}#bytes={passage.start}-{passage.end}"
            bonus = max(0, FIRST_PASSAGE_BONUS - place)
            excerpts.append(_excerpt(passage.source, citation, passage.text, terms, bonus=bonus))
        held = sum(term.occurs_in(text) for term in terms)
        if not found and held >= min(FREE_TEXT_TERMS, len(terms)):
            excerpts.append(_excerpt(f"what {tool} returned", f"tool:{tool}", text, terms))
    return excerpts


def _excerpt(where: str, citation: str, text: str, terms: Sequence[Term], bonus: int = 0) -> Excerpt:
    lines = text.split("\n")
    return Excerpt(where, citation, tuple(lines[index] for index in best_block(lines, terms)), bonus)


def _hits(view: View) -> list[Line]:
    return [hit for step in view.steps_with(GREP) if not step.failed for hit in grep_hits(step.result)]


def _search(view: View, terms: Sequence[Term]) -> Turn | None:
    tried = view.steps_with(GREP)
    if GREP not in view.tools or len(tried) >= MAXIMUM_GREPS or view.steps_with(READ):
        return None
    found = places(_hits(view), terms)
    if found and (found[0].defines or len(found[0].terms) >= min(ENOUGH_TERMS, len(terms))):
        return None
    patterns = [step.arguments.get("pattern") for step in tried]
    untried = [group for group in _groups(terms) if _pattern(group) not in patterns]
    if not untried:
        return None
    arguments = {
        "pattern": _pattern(untried[0]),
        "output_mode": "content",
        "-n": True,
        "-i": not untried[0][0].exact,
        "head_limit": GREP_LINES,
    }
    properties = view.tools[GREP]
    allowed = {key: value for key, value in arguments.items() if key == "pattern" or key in properties}
    return call(f"Searching the workspace for {', '.join(term.text for term in untried[0])}.", GREP, allowed)


def _groups(terms: Sequence[Term]) -> list[Sequence[Term]]:
    """What is looked for in one search each: every exact term alone, the words a few together, light names last."""
    words = [term for term in terms if not term.exact]
    return [
        *([term] for term in terms if term.exact and not term.light),
        *(words[start : start + WORDS_TOGETHER] for start in range(0, len(words), WORDS_TOGETHER)),
        *([term] for term in terms if term.exact and term.light),
    ]


def _pattern(group: Sequence[Term]) -> str:
    return "|".join(term.pattern for term in group)


def _unread(view: View, terms: Sequence[Term]) -> list[Place]:
    seen = [
        (_relative(view, str(step.arguments.get("file_path", ""))), step.arguments.get("offset", 1))
        for step in view.steps_with(READ)
    ]
    return [place for place in places(_hits(view), terms) if (place.path, _offset(place)) not in seen]


def _offset(place: Place) -> int:
    return max(1, place.first - LINES_BEFORE)


def _read(view: View, terms: Sequence[Term]) -> Turn | None:
    done = view.steps_with(READ)
    if READ not in view.tools or len(done) >= MAXIMUM_READS:
        return None
    unread = _unread(view, terms)
    if not unread:
        return None
    place = unread[0]
    if any(not step.failed for step in done):
        covered = "\n".join(line.text for line in _lines_read(view))
        open_terms = [term for term in terms if not term.occurs_in(covered)]
        whole = sum(term.weight for term in terms)
        adding = [other for other in unread if any(term.text in other.terms for term in open_terms)]
        if coverage(covered, terms) * 100 >= whole * COVERED_PERCENT or not adding:
            return None
        place = adding[0]
    path = place.path if place.path.startswith("/") or not view.directory else f"{view.directory}/{place.path}"
    arguments = {"file_path": path, "offset": _offset(place), "limit": READ_LINES}
    return call(f"Reading {place.path} around line {place.first}.", READ, arguments)


def _relative(view: View, path: str) -> str:
    return path.removeprefix(view.directory + "/") if view.directory else path


def _lines_read(view: View) -> list[Line]:
    return [
        line
        for step in view.steps_with(READ)
        if not step.failed
        for line in read_lines(_relative(view, str(step.arguments.get("file_path", ""))), step.result)
    ]


def _answer_from_workspace(view: View, terms: Sequence[Term]) -> str:
    stretches = _stretches(_lines_read(view)) or [list(place.lines) for place in places(_hits(view), terms)[:2]]
    excerpts = [excerpt for lines in stretches if (excerpt := _quoted(lines, terms)) is not None]
    return answer_text(chosen(excerpts, terms), terms)


def _stretches(lines: Sequence[Line]) -> list[list[Line]]:
    """The lines without repetitions, as runs of consecutive ones; a quote never jumps over what wasn't read."""
    runs: list[list[Line]] = []
    for line in sorted(set(lines), key=lambda line: (line.path, line.number)):
        if runs and runs[-1][-1].path == line.path and runs[-1][-1].number == line.number - 1:
            runs[-1].append(line)
        else:
            runs.append([line])
    return runs


def _quoted(lines: Sequence[Line], terms: Sequence[Term]) -> Excerpt | None:
    block = best_block([line.text for line in lines], terms)
    if not block:
        return None
    picked = [lines[index] for index in block]
    path = picked[0].path
    return Excerpt(path, f"{path}:{picked[0].number}-{picked[-1].number}", tuple(line.text for line in picked))
