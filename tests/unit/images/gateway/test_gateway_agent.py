"""The plain agent: what it does next, from the request alone."""

from __future__ import annotations

import json
from typing import Any

from gateway.messages_request import parse_request
from gateway.policy.agent import Turn, decide
from gateway.policy.view import View, without_reminders

GREP_SCHEMA: dict[str, Any] = {"properties": {key: {} for key in ("pattern", "output_mode", "-n", "-i", "head_limit")}}
GREP = {"name": "Grep", "input_schema": GREP_SCHEMA}
READ = {"name": "Read", "input_schema": {"properties": {"file_path": {}, "offset": {}, "limit": {}}}}
MEMORY = {"name": "mcp__notes__memory_search", "input_schema": {"properties": {"query": {}, "k": {}}}}
REMINDER = {"type": "text", "text": "<system-reminder>\n - Primary working directory: /workspace\n</system-reminder>"}
QUESTION = "What does `send_failed` do to the state?"
PASSAGES = (
    "[1] id=4 source=pkg/other.py bytes=5-90 title=other\nNothing of interest.\n\n"
    "[2] id=9 source=pkg/conn.py bytes=100-200 title=send_failed\ndef send_failed(self):\n    the state becomes ERROR"
)
FILE = "\n".join(
    f"{number}\t{text}" for number, text in [(4, ""), (5, "def send_failed(self):"), (6, "    # the state")]
)


def conversation(
    *steps: tuple[str, dict[str, Any], str], tools: list[Any] | None = None, question: str = QUESTION, **more: object
) -> View:
    messages: list[dict[str, Any]] = [{"role": "user", "content": [REMINDER, {"type": "text", "text": question}]}]
    for number, (tool, arguments, result) in enumerate(steps):
        use = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": arguments}
        back = {"type": "tool_result", "tool_use_id": f"t{number}", "content": result}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [back]}]
    body = {"model": "m", "max_tokens": 9, "messages": messages, "tools": tools if tools is not None else [GREP, READ]}
    return View.of(parse_request(json.dumps(body | more).encode(), counting=False))


def called(turn: Turn) -> tuple[str, dict[str, Any]]:
    use = turn.content[-1]
    assert (use["type"], turn.stop_reason) == ("tool_use", "tool_use")
    return use["name"], use["input"]


def said(turn: Turn) -> str:
    assert (len(turn.content), turn.stop_reason) == (1, "end_turn")
    return str(turn.content[0]["text"])


def first_grep() -> tuple[str, dict[str, Any], str]:
    return ("Grep", {"pattern": r"\bsend_failed\b"}, "pkg/conn.py:5:def send_failed(self):")


def test_the_question_is_the_last_human_text_of_the_first_message() -> None:
    """What the client puts around the question isn't the question, and gives the working directory."""
    view = conversation(question="<system-reminder>date</system-reminder> Where is x? ")
    assert (view.question, view.directory) == ("Where is x?", "/workspace")


def test_reminders_that_never_end_are_text() -> None:
    """An unclosed mark takes nothing away."""
    assert without_reminders("a <system-reminder> b") == "a <system-reminder> b"
    assert without_reminders("a<system-reminder>x</system-reminder>b<system-reminder>y</system-reminder>") == "ab"


def test_without_memory_it_searches_for_the_rarest_term() -> None:
    """The identifier of the question is the first thing that it looks for."""
    assert called(decide(conversation())) == (
        "Grep",
        {"pattern": r"\bsend_failed\b", "output_mode": "content", "-n": True, "-i": False, "head_limit": 60},
    )


def test_arguments_that_a_tool_does_not_declare_are_left_out() -> None:
    """A tool with fewer options is called with fewer."""
    bare = {"name": "Grep", "input_schema": {"properties": {"pattern": {}}}}
    assert called(decide(conversation(tools=[bare]))) == ("Grep", {"pattern": r"\bsend_failed\b"})


def test_without_a_hit_it_tries_the_next_terms() -> None:
    """A search that finds nothing is followed by another one, words together."""
    view = conversation(("Grep", {"pattern": r"\bsend_failed\b"}, "No matches found"))
    assert called(decide(view))[1]["pattern"] == r"(?:\b|_)state"


def test_it_reads_around_the_definition() -> None:
    """A definition of the rarest term is reason enough to read there."""
    assert called(decide(conversation(first_grep()))) == (
        "Read",
        {"file_path": "/workspace/pkg/conn.py", "offset": 1, "limit": 60},
    )


def test_it_answers_with_quotes_and_sources() -> None:
    """The answer begins with a sentence and ends with the lines that it quotes."""
    read = ("Read", {"file_path": "/workspace/pkg/conn.py", "offset": 1, "limit": 60}, FILE)
    assert said(decide(conversation(first_grep(), read))) == (
        "The answer is in pkg/conn.py; of the question's words these stand there: send_failed, state.\n\n"
        "pkg/conn.py says:\n\n> def send_failed(self):\n>     # the state\n\n"
        "Sources:\n- pkg/conn.py:5-6"
    )


def test_a_read_that_fails_is_not_the_end() -> None:
    """When a file can't be read the hits themselves are quoted."""
    read = ("Read", {"file_path": "/workspace/pkg/conn.py", "offset": 1, "limit": 60}, "EACCES: permission denied")
    assert said(decide(conversation(first_grep(), read))).endswith("Sources:\n- pkg/conn.py:5-5")


def test_without_read_it_quotes_the_hits() -> None:
    """Tools that aren't on offer are never called."""
    assert said(decide(conversation(first_grep(), tools=[GREP]))).endswith("Sources:\n- pkg/conn.py:5-5")


def test_without_tools_it_says_that_it_found_nothing() -> None:
    """Nothing is claimed without evidence, and nothing is cited."""
    assert said(decide(conversation(tools=[]))) == "I found nothing that answers the question."


def test_tools_that_the_client_forbids_are_not_called() -> None:
    """`tool_choice: none` leaves only words."""
    assert said(decide(conversation(tool_choice={"type": "none"}))) == "I found nothing that answers the question."


def test_it_stops_after_four_searches() -> None:
    """A question about nothing in the workspace ends."""
    question = "alpha_a beta_b gamma_c delta_d epsilon_e zeta_z"
    steps: list[tuple[str, dict[str, Any], str]] = []
    for _ in range(4):
        steps.append((*called(decide(conversation(*steps, question=question))), "No matches found"))
    patterns = [arguments["pattern"] for _, arguments, _ in steps]
    assert patterns == [r"\bepsilon_e\b", r"\balpha_a\b", r"\bgamma_c\b", r"\bdelta_d\b"]
    assert said(decide(conversation(*steps, question=question))) == "I found nothing that answers the question."


def test_with_a_memory_it_asks_the_memory_first() -> None:
    """The whole question goes to the memory, whatever its server is called."""
    assert called(decide(conversation(tools=[GREP, READ, MEMORY]))) == (
        "mcp__notes__memory_search",
        {"query": QUESTION, "k": 5},
    )


def test_the_memory_s_schema_is_respected() -> None:
    """A limit of the query or of k is kept, and no argument is invented."""
    small = {
        "name": "mcp__m__memory_search",
        "input_schema": {"properties": {"query": {"maxLength": 4}, "k": {"maximum": 2}}},
    }
    bare = {"name": "mcp__m__memory_search", "input_schema": {"properties": {"query": {}}}}
    assert called(decide(conversation(tools=[small])))[1] == {"query": "What", "k": 2}
    assert called(decide(conversation(tools=[bare])))[1] == {"query": QUESTION}


def test_it_answers_from_the_passages() -> None:
    """The passage that shares the question's words is quoted and cited by its bytes."""
    view = conversation(("mcp__notes__memory_search", {"query": QUESTION}, PASSAGES), tools=[GREP, READ, MEMORY])
    assert said(decide(view)) == (
        "The answer is in pkg/conn.py; of the question's words these stand there: send_failed, state.\n\n"
        "pkg/conn.py says:\n\n> def send_failed(self):\n>     the state becomes ERROR\n\n"
        "Sources:\n- pkg/conn.py#bytes=100-200"
    )


def test_a_result_wrapped_by_the_client_reads_the_same() -> None:
    """Structured content and the client's own reminders change nothing."""
    wrapped = json.dumps({"result": PASSAGES}) + "\n\n<system-reminder>tokens left</system-reminder>"
    step = ("mcp__notes__memory_search", {"query": QUESTION}, wrapped)
    assert said(decide(conversation(step, tools=[MEMORY]))).endswith("Sources:\n- pkg/conn.py#bytes=100-200")


def test_a_memory_without_overlap_is_followed_by_a_search() -> None:
    """When no passage shares a word with the question, the workspace is searched as without a memory."""
    step = ("mcp__notes__memory_search", {"query": QUESTION}, "No passage found.")
    assert called(decide(conversation(step, tools=[GREP, READ, MEMORY])))[0] == "Grep"


def test_a_memory_of_another_form_is_quoted_by_its_tool() -> None:
    """Text without passages is evidence too; its citation names the tool."""
    step = ("mcp__notes__memory_search", {"query": QUESTION}, "Noted: send_failed moves the state to ERROR.")
    answer = said(decide(conversation(step, tools=[MEMORY])))
    assert answer.endswith(
        "> Noted: send_failed moves the state to ERROR.\n\nSources:\n- tool:mcp__notes__memory_search"
    )


def test_a_memory_s_apology_is_no_evidence() -> None:
    """A sentence that shares one word with the question by chance isn't quoted as its answer."""
    question = "Which photographs were found in `send_failed`?"
    step = ("mcp__notes__memory_search", {"query": question}, "No passage found.")
    assert called(decide(conversation(step, tools=[GREP, MEMORY], question=question)))[0] == "Grep"


def test_an_empty_question_is_said_to_be_empty() -> None:
    """A conversation without a human text gets an answer, not a search for nothing."""
    view = conversation(question="<system-reminder>x</system-reminder>")
    assert said(decide(view)) == "There is no question in this conversation."


def test_the_same_conversation_gets_the_same_turn() -> None:
    """The policy keeps nothing between calls."""
    view = conversation(first_grep())
    assert decide(view) == decide(conversation(first_grep()))
