"""How does the agent speak with clients whose tools have other names? Puts its two tools into theirs, and back.

The agent searches with `Grep` and reads with `Read`. A client may call them otherwise, or have nothing but a shell:
what the agent wants is said in the client's words, and earlier calls in those words are heard as its own.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from gateway.messages_request import strict_json
from gateway.policy.agent import GREP, GREP_LINES, READ, Turn, decide
from gateway.policy.words import WORD_START

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.policy.view import Step, View

Arguments = dict[str, Any]
# What Codex 0.163.0 offers instead of a shell to models that call tools from programs.
CODE = "functions__exec"


class Dialect(Protocol):
    """The tools of one kind of client."""

    def said(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str, Arguments]:
        """The client's tool and arguments for a call of `Grep` or `Read`."""

    def heard(self, step: Step) -> Step:
        """A call of the client's tool, as the agent would have made it; any other as it is."""


class FileTools:
    """`grep` and `read_file`: the same under other names."""

    def said(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str, Arguments]:
        """The call with the names that `read_file` and `grep` give to their arguments."""
        if tool == READ:
            return "read_file", {
                "path": arguments["file_path"],
                "offset": arguments["offset"],
                "limit": arguments["limit"],
            }
        ignore_case = arguments.get("-i") is True
        return "grep", {"pattern": arguments["pattern"], "ignore_case": ignore_case, "limit": GREP_LINES}

    def heard(self, step: Step) -> Step:
        """The call with the agent's names."""
        if step.tool == "read_file":
            given = {"file_path": step.arguments.get("path", ""), "offset": step.arguments.get("offset", 1)}
            return replace(step, tool=READ, arguments=given)
        if step.tool == "grep":
            return replace(step, tool=GREP, arguments={"pattern": step.arguments.get("pattern")})
        return step


# `grep -E` knows no group that captures nothing.
GREP_WORD_START = WORD_START.replace("(?:", "(")
# The commands below as they come back: the pattern or path is one word of the shell's.
SEARCHED = re.compile(r"grep -rnIE?(?:i)? -e (.+) \. \| LC_ALL=C sort -t: -k1,1 -k2,2n \| head -n \d+", re.DOTALL)
SHOWN = re.compile(r"awk 'NR >= (\d{1,9}) && NR < \d{1,9} \{ printf \"%d\\t%s\\n\", NR, \$0 \}' (.+)", re.DOTALL)
# What comes before a command's own output.
PREAMBLE = re.compile(r"(?:.*\n){0,8}?(?:Final )?[Oo]utput:\n")


class Shell:
    """`exec_command`: a shell in the workspace. Results are sorted: folders have no order of their own."""

    def said(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str, Arguments]:
        """The command line that searches, or prints numbered lines."""
        if tool == READ:
            first = arguments["offset"]
            lines = f"NR >= {first} && NR < {first + arguments['limit']}"
            printed = '{ printf "%d\\t%s\\n", NR, $0 }'
            return "exec_command", {"cmd": f"awk '{lines} {printed}' {shlex.quote(arguments['file_path'])}"}
        flags = "-rnIEi" if arguments.get("-i") is True else "-rnIE"
        pattern = shlex.quote(_for_grep(arguments["pattern"]))
        ordered = f"LC_ALL=C sort -t: -k1,1 -k2,2n | head -n {GREP_LINES}"
        return "exec_command", {"cmd": f"grep {flags} -e {pattern} . | {ordered}"}

    def heard(self, step: Step) -> Step:
        """A search or a reading that this class has asked for; another command as it is."""
        command = step.arguments.get("cmd")
        if step.tool != "exec_command" or not isinstance(command, str):
            return step
        output = PREAMBLE.sub("", step.result, count=1)
        if found := SEARCHED.fullmatch(command):
            hits = "\n".join(line.removeprefix("./") for line in output.split("\n"))
            return replace(step, tool=GREP, arguments={"pattern": _word(found[1])}, result=hits)
        if found := SHOWN.fullmatch(command):
            return replace(
                step, tool=READ, arguments={"file_path": _word(found[2]), "offset": int(found[1])}, result=output
            )
        return step


# A line of JavaScript, as it comes back: its argument is JSON.
RUN = re.compile(r"const done = await tools\.exec_command\((\{.*\})\); text\(done\.output\);")


class ScriptedShell:
    """`exec` of Codex's code mode: JavaScript in which the shell is a function."""

    def __init__(self) -> None:
        """It says and hears what the shell does."""
        self._shell = Shell()

    def said(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str, Arguments]:
        """The program that runs the shell's command line, and prints what it printed."""
        _, called = self._shell.said(tool, arguments)
        return CODE, {"input": f"const done = await tools.exec_command({json.dumps(called)}); text(done.output);"}

    def heard(self, step: Step) -> Step:
        """As the shell heard the command line in a program that this class has asked for."""
        program = step.arguments.get("input")
        found = RUN.fullmatch(program) if step.tool == CODE and isinstance(program, str) else None
        if found is None:
            return step
        try:
            called = strict_json(found[1].encode())
        except ValueError:
            return step
        return self._shell.heard(replace(step, tool="exec_command", arguments=called))


def play(view: View) -> Turn:
    """The agent's next turn, in the words of the client that it speaks with."""
    dialect = _dialect(view.tools)
    if dialect is None:
        return decide(view)
    schemas = {GREP: {"pattern": {}, "-i": {}}, READ: {"file_path": {}, "offset": {}, "limit": {}}}
    turn = decide(
        replace(view, tools={**view.tools, **schemas}, steps=tuple(dialect.heard(step) for step in view.steps))
    )
    return replace(turn, content=tuple(_said(dialect, block) for block in turn.content))


def _dialect(tools: Mapping[str, Mapping[str, Any]]) -> Dialect | None:
    if GREP in tools or READ in tools:
        return None
    if {"grep", "read_file"} <= set(tools):
        return FileTools()
    if "exec_command" in tools:
        return Shell()
    return ScriptedShell() if CODE in tools else None


def _said(dialect: Dialect, block: dict[str, Any]) -> dict[str, Any]:
    if block["type"] != "tool_use" or block["name"] not in {GREP, READ}:
        return block
    name, arguments = dialect.said(block["name"], block["input"])
    return block | {"name": name, "input": arguments}


def _for_grep(pattern: str) -> str:
    return pattern.replace(WORD_START, GREP_WORD_START)


def _word(text: str) -> str:
    try:
        words = shlex.split(text)
    except ValueError:
        return ""
    return words[0].replace(GREP_WORD_START, WORD_START) if len(words) == 1 else ""
