"""How the agent speaks with clients whose tools have other names."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from gateway.policy.dialects import FileTools, ScriptedShell, Shell, play
from gateway.policy.view import Step, View

if TYPE_CHECKING:
    from pathlib import Path

QUESTION = "What does `parse_header` raise for a header that is too long?"
SOURCE = "import re\n\n\ndef parse_header(line):\n    if len(line) > 80:\n        raise ValueError('too long')\n"
CODE: dict[str, Any] = {"functions__exec": {}, "functions__wait": {"cell_id": {}}}
CODEX: dict[str, Any] = {"exec_command": {"cmd": {}}, "write_stdin": {}}
LOOP: dict[str, Any] = {"grep": {"pattern": {}}, "read_file": {"path": {}}, "glob": {"pattern": {}}}


def view(tools: dict[str, Any], *steps: Step) -> View:
    """A conversation about the question so far."""
    return View(question=QUESTION, directory="", tools=tools, steps=steps)


def asked(tools: dict[str, Any], *steps: Step) -> tuple[str, dict[str, Any]]:
    """The tool that is called next, and with what."""
    block = play(view(tools, *steps)).content[-1]
    return block["name"], block["input"]


def shown(output: str) -> str:
    """A command's output as Codex gives it to the model."""
    return f"Chunk ID: 928ef8\nWall time: 0.0000 seconds\nProcess exited with code 0\nOriginal token count: 9\nOutput:\n{output}"


def test_a_shell_searches_reads_and_answers(tmp_path: Path) -> None:
    """Its commands are real ones: they find what the agent looks for, whatever stands around their output."""
    (tmp_path / "http.py").write_text(SOURCE)
    (tmp_path / "other.py").write_text("parse = 1\n")
    steps: list[Step] = []
    for _ in range(2):
        name, arguments = asked(CODEX, *steps)
        assert name == "exec_command"
        done = subprocess.run(
            ["/bin/bash", "-c", arguments["cmd"]], cwd=tmp_path, capture_output=True, check=True, text=True
        )
        steps.append(Step("exec_command", arguments, shown(done.stdout), failed=False))
    assert steps[0].arguments["cmd"].startswith("grep -rnIE -e ")
    assert steps[1].arguments["cmd"] == "awk 'NR >= 1 && NR < 61 { printf \"%d\\t%s\\n\", NR, $0 }' http.py"
    answer = play(view(CODEX, *steps))
    assert answer.stop_reason == "end_turn"
    assert "http.py:" in answer.content[0]["text"]
    assert "raise ValueError('too long')" in answer.content[0]["text"]


def test_a_program_runs_the_same_commands() -> None:
    """Where the shell is a function of JavaScript; what the program printed is heard as the command's output."""
    (_, plain), (name, arguments) = asked(CODEX), asked(CODE)
    assert name == "functions__exec"
    assert arguments == {
        "input": f"const done = await tools.exec_command({json.dumps(plain)}); text(done.output);",
    }
    printed = "Script completed\nWall time 0.1 seconds\nOutput:\n\n./http.py:4:def parse_header(line):"
    found = Step(name, arguments, printed, failed=False)
    name, arguments = asked(CODE, found)
    assert arguments["input"].startswith('const done = await tools.exec_command({"cmd": "awk \'NR >= 1 && NR < 61 ')
    numbered = "\n".join(f"{number}\t{line}" for number, line in enumerate(SOURCE.splitlines(), 1))
    answer = play(view(CODE, found, Step(name, arguments, "Output:\n" + numbered, failed=False)))
    assert "raise ValueError('too long')" in answer.content[0]["text"]


@pytest.mark.parametrize(
    "program",
    [
        "text(1)",
        "const done = await tools.exec_command({cmd}); text(done.output);",
        'const done = await tools.exec_command({"cmd": "\\ud800"}); text(done.output);',
        'const done = await tools.exec_command({"cmd": "ls"}); text(done.output); x',
        3,
        None,
    ],
)
def test_a_program_of_somebody_else_stays_what_it_is(program: object) -> None:
    """Only those that the agent wrote are heard as its searches and readings."""
    step = Step("functions__exec", {"input": program}, "x", failed=False)
    assert ScriptedShell().heard(step) == step


def test_file_tools_search_and_read() -> None:
    """The same calls under the names of the agent loop's tools."""
    name, arguments = asked(LOOP)
    assert (name, arguments) == ("grep", {"pattern": r"\bparse_header\b", "ignore_case": False, "limit": 60})
    found = Step(name, arguments, "http.py:4:def parse_header(line):", failed=False)
    name, arguments = asked(LOOP, found)
    assert (name, arguments) == ("read_file", {"path": "http.py", "offset": 1, "limit": 60})
    numbered = "\n".join(f"{number:6d}\t{line}" for number, line in enumerate(SOURCE.splitlines(), 1))
    answer = play(view(LOOP, found, Step(name, arguments, numbered, failed=False)))
    assert "raise ValueError('too long')" in answer.content[0]["text"]


def test_a_client_with_the_agent_s_own_tools_is_left_alone() -> None:
    """A shell beside them changes nothing."""
    name, arguments = asked({"Grep": {"pattern": {}, "-n": {}}, "exec_command": {"cmd": {}}})
    assert (name, arguments) == ("Grep", {"pattern": r"\bparse_header\b", "-n": True})


def test_the_memory_is_asked_first_by_any_client() -> None:
    """Its tool has the same name everywhere."""
    name, arguments = asked({**CODEX, "mcp__memory__memory_search": {"query": {}}})
    assert (name, arguments) == ("mcp__memory__memory_search", {"query": QUESTION})


@pytest.mark.parametrize(
    "command",
    [
        "ls -la",
        "grep -rnIE -e 'a' .",
        "awk 'NR >= 1 && NR < 61 { printf \"%d\\t%s\\n\", NR, $0 }' a b; rm x",
        "awk 'NR >= 99999999999 && NR < 61 { printf \"%d\\t%s\\n\", NR, $0 }' a",
        3,
        None,
    ],
)
def test_a_command_of_somebody_else_stays_what_it_is(command: object) -> None:
    """Only the agent's own searches and readings are heard as such."""
    step = Step("exec_command", {"cmd": command}, "x", failed=False)
    heard = Shell().heard(step)
    assert heard == step or heard.arguments.get("file_path") == ""


def test_a_pattern_goes_to_the_shell_and_comes_back() -> None:
    """Quotes, groups and all; what isn't one word is no pattern."""
    pattern = r"(?:\b|_)it's|a \"b\""
    name, arguments = Shell().said("Grep", {"pattern": pattern, "-i": True})
    heard = Shell().heard(Step(name, arguments, "Output:\n./a.py:3:it's\n./b/c.py:1:x", failed=False))
    assert (heard.tool, heard.arguments, heard.result) == ("Grep", {"pattern": pattern}, "a.py:3:it's\nb/c.py:1:x")


@pytest.mark.parametrize("arguments", [{}, {"path": 3, "offset": "x"}, {"pattern": None}])
def test_calls_with_odd_arguments_are_heard(arguments: dict[str, Any]) -> None:
    """A hostile conversation can't break the agent."""
    for tool in ("read_file", "grep", "exec_command"):
        play(view(LOOP, Step(tool, arguments, "a:1:b", failed=False)))
        FileTools().heard(Step(tool, arguments, "", failed=False))
        Shell().heard(Step(tool, arguments, "", failed=False))
