"""What can a model look at? Three tools that read files below one folder, whatever links and paths it is given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from messages import searching

if TYPE_CHECKING:
    from collections.abc import Mapping

READ_LINES = 2000
ANSWER_CHARACTERS = 200_000
GREP_LINES = 200
GLOB_FILES = 500
SEARCH_SECONDS = 20


class Answer(NamedTuple):
    """What the model hears; `failed` marks an error."""

    text: str
    failed: bool = False


class ArgumentError(ValueError):
    """The model called a tool with arguments that it can't be called with; the text says how to do better."""


_PATH = {"type": "string", "description": "Relative to the workspace, or absolute and inside it."}
_GLOB = {"type": "string", "description": "A glob: * and ? stay within a folder, ** crosses folders."}
SCHEMAS: dict[str, dict[str, Any]] = {
    "read_file": {
        "name": "read_file",
        "description": "Read a text file of the workspace. Lines are numbered from 1.",
        "input_schema": {
            "type": "object",
            "properties": {
                "path": _PATH,
                "offset": {"type": "integer", "minimum": 1, "description": "First line; 1 by default."},
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": READ_LINES,
                    "description": f"How many lines; {READ_LINES} by default.",
                },
            },
            "required": ["path"],
            "additionalProperties": False,
        },
    },
    "grep": {
        "name": "grep",
        "description": "Search the workspace's text files for lines that match a regular expression of Python."
        " Returns path:line:text.",
        "input_schema": {
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "The regular expression."},
                "path": _PATH | {"description": "File or folder to search in; the whole workspace by default."},
                "glob": _GLOB | {"description": "Only files whose path matches this glob."},
                "ignore_case": {"type": "boolean", "description": "Whether upper and lower case are the same."},
                "limit": {"type": "integer", "minimum": 1, "maximum": GREP_LINES, "description": "How many hits."},
            },
            "required": ["pattern"],
            "additionalProperties": False,
        },
    },
    "glob": {
        "name": "glob",
        "description": f"List files of the workspace whose path matches a glob, at most {GLOB_FILES}.",
        "input_schema": {
            "type": "object",
            "properties": {"pattern": _GLOB},
            "required": ["pattern"],
            "additionalProperties": False,
        },
    },
}


class FileTools:
    """The tools over the folder `root`; nothing outside it is ever opened."""

    def __init__(self, root: str, search_seconds: float = SEARCH_SECONDS) -> None:
        self._root = os.path.realpath(root)
        self._search_seconds = search_seconds

    def call(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """The answer of the tool `name`. Whatever goes wrong is an answer too: a model can go on."""
        try:
            match name:
                case "read_file":
                    text = self._read(_Given(arguments, SCHEMAS[name]))
                case "grep":
                    text = self._grep(_Given(arguments, SCHEMAS[name]))
                case "glob":
                    text = self._glob(_Given(arguments, SCHEMAS[name]))
                case _:
                    return Answer(f"There is no tool {name!r}.", failed=True)
        except ArgumentError as error:
            return Answer(f"{name}: {error}", failed=True)
        except OSError as error:
            return Answer(f"{name}: {error.strerror}", failed=True)
        return Answer(text if len(text) <= ANSWER_CHARACTERS else text[:ANSWER_CHARACTERS] + "\n[cut]")

    def _place(self, path: str) -> str:
        """Where `path` leads, all links followed: inside the folder, or it is refused."""
        if "\0" in path:
            raise ArgumentError("path: holds a NUL character")
        place = os.path.realpath(os.path.join(self._root, path))
        if place != self._root and not place.startswith(self._root + os.sep):
            raise ArgumentError(f"path: {path} is outside the workspace")
        if not os.path.exists(place):
            raise ArgumentError(f"path: there is no {path}")
        return place

    def _read(self, given: _Given) -> str:
        path = given.text("path")
        place = self._place(path)
        if not os.path.isfile(place):
            raise ArgumentError(f"path: {path} is not a file")
        first = given.count("offset", 1)
        last = first + given.count("limit", READ_LINES)
        with open(place, "rb") as file:
            data = file.read(searching.FILE_BYTES)
        if b"\0" in data[: searching.PROBE_BYTES]:
            raise ArgumentError(f"path: {path} is not a text file")
        lines = data.decode("utf-8", "replace").removesuffix("\n").split("\n")
        shown = lines[first - 1 : last - 1]
        if not shown:
            raise ArgumentError(f"offset: the file has {len(lines)} lines")
        return "\n".join(f"{first + index:6d}\t{line[: searching.LINE_CHARACTERS]}" for index, line in enumerate(shown))

    def _grep(self, given: _Given) -> str:
        asked = {
            "root": self._root,
            "start": self._place(given.text("path", ".")),
            "pattern": given.text("pattern"),
            "glob": given.text("glob", ""),
            "ignore_case": given.truth("ignore_case"),
            "limit": given.count("limit", GREP_LINES),
        }
        # In a process of its own: a pattern may take longer than the world lasts, and nothing else can end it.
        command = [sys.executable, "-I", "-S", searching.__file__]
        try:
            done = subprocess.run(
                command,
                input=json.dumps(asked).encode(),
                capture_output=True,
                timeout=self._search_seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ArgumentError(
                f"the search took longer than {self._search_seconds} s; try a simpler pattern"
            ) from None
        text = done.stdout.decode("utf-8", "replace")
        if done.returncode == 2:
            raise ArgumentError(text)
        if done.returncode != 0:
            raise ArgumentError("the search failed")
        return text.removesuffix("\n") or "No matches."

    def _glob(self, given: _Given) -> str:
        wanted = searching.glob_pattern(given.text("pattern"))
        found = [path for path in searching.files_below(self._root, self._root) if wanted.fullmatch(path)]
        return "\n".join(found[:GLOB_FILES]) or "No files."


class _Given:
    """The arguments of a call, held against its schema."""

    def __init__(self, arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
        self._arguments = arguments
        self._properties = schema["input_schema"]["properties"]
        unknown = sorted(set(arguments) - set(self._properties))
        if unknown:
            raise ArgumentError(f"unknown arguments {unknown}; known are {sorted(self._properties)}")

    def text(self, name: str, default: str | None = None) -> str:
        value = self._arguments.get(name, default)
        if not isinstance(value, str):
            raise ArgumentError(f"{name}: expected a string")
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ArgumentError(f"{name}: is not Unicode text") from None
        return value

    def truth(self, name: str) -> bool:
        value = self._arguments.get(name, False)
        if not isinstance(value, bool):
            raise ArgumentError(f"{name}: expected true or false")
        return value

    def count(self, name: str, default: int) -> int:
        value = self._arguments.get(name, default)
        most = self._properties[name].get("maximum")
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ArgumentError(f"{name}: expected a whole number from 1")
        return min(value, most) if isinstance(most, int) else value
