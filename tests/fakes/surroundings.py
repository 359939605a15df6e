"""A whole outside in memory: what `runner.pipeline` needs to plan, lock, run, resume and verify a small study.

Only image building works on real folders, as it does in the program: `images` holds four tiny images that are built
once and shared by all tests of a session.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from runner.archives.harness import harness_of
from runner.core.errors import EnvironmentNotReady
from runner.core.harness import Installation
from runner.core.owner import Owner
from runner.images.inputs import Build, Tools
from runner.images.relock import relock
from runner.images.store import Store
from runner.pipeline.freezing import freeze_corpus
from runner.pipeline.world import Places, World
from tests.fakes.clock import FakeClock, FakeEntropy
from tests.fakes.engine import FakeEngine
from tests.fakes.files import MemoryFiles
from tests.fakes.image_tools import FakeArchive, FakeCompiler, FakeIndex, deb
from tests.fakes.pods import Pods
from tests.fakes.repositories import MemoryRepositories
from tests.fakes.slots import MemorySlots
from tests.fakes.vectors import MemoryVectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runner.core.outcomes import Outcome
    from runner.core.plan import PlannedTrial
    from runner.ports.engine import Engine

STUDY = Path("/studies/demo/study.toml")
RUNS = Path("/here/runs")
CACHE = Path("/cache")

BASE = """
format = "pairbench/base"
version = 1
suite = "bookworm"
packages = ["python3"]
omit = []
python = "/usr/bin/python3.11"
python_version = "3.11"
site = "/usr/lib/python3/dist-packages"
users = [{ name = "root", id = 0, home = "/root" }]
"""
IMAGE = """
format = "pairbench/image"
version = 1
user = "10002"
entrypoint = ["python3", "/opt/pairbench/main.py"]
programs = [{ source = "program", to = "/opt/pairbench" }]
"""
COMMAND_STUDY = """
format = "pairbench/study"
version = 1
name = "demo"
description = "Two arms, two tasks."
seed = "demo 1"
repetitions = 1
control = "off"
corpora = { notes = "../notes/corpus.toml" }
client = { kind = "command", command = ["/bin/answer"] }
model = { mode = "scripted", policy = "plain-agent" }
arms = [{ name = "off" }, { name = "joined", sidecar = true }]
tasks = [
  { id = "first", corpus = "notes", prompt = "What is planned?" },
  { id = "second", corpus = "notes", prompt = "And then?" },
]
"""
CLAUDE_STUDY = """
format = "pairbench/study"
version = 1
name = "demo"
description = "Two arms, two tasks, a memory."
seed = "demo 1"
repetitions = 2
control = "off"
labels = "labels.toml"
task_files = ["tasks.toml"]
corpora = { notes = "../notes/corpus.toml" }

[client]
kind = "claude-code"
model = "claude-sonnet-4-5"

[model]
mode = "scripted"
policy = "plain-agent"

[[arms]]
name = "off"

[[arms]]
name = "memory"
sidecar = true

[[arms.mcp_servers]]
name = "memory"
command = ["python3", "/opt/pairbench/memory/server.py"]
tools = ["memory_search"]
"""
TASKS = """
format = "pairbench/tasks"
version = 1
tasks = [
  { id = "first", corpus = "notes", prompt = "What is planned?" },
  { id = "second", corpus = "notes", prompt_file = "second.txt" },
]
"""
LABELS = """
format = "pairbench/labels"
version = 1

[[labels]]
task = "first"
sources = [{ path = "notes/plan.md", start = 0, end = 26, grade = 2, anchor = "We move to Lisbon" }]
checks = [{ id = "names-the-city", any = ["Lisbon"] }]
"""
CORPUS = """
format = "pairbench/corpus"
version = 1
name = "notes"
description = "Notes."
licence = "CC0-1.0"
splitter = { name = "lines-1" }
parts = [{ kind = "files", path = "files", into = "notes" }]
"""
INSTALLED = Installation(
    "0.1.0", "3.11.7", ">=3.11", "Apache-2.0", ("click>=8.1",), {"pairbench": "runner.cli:main"}, b"click==8.0.1\n"
)
CODE = harness_of(
    {
        "runner/__init__.py": b'__version__ = "0.1.0"\n',
        # What it was told, what it was given, and an exit code of its own.
        "runner/cli/__init__.py": b"""
import os, sys
def main():
    print("old", sys.argv, sys.path[0].rpartition("/")[2][:15], sorted(set(os.environ) & {"ANTHROPIC_API_KEY", "PATH"}))
    sys.exit(4)
""",
    },
    INSTALLED,
)
PLAN_NOTE = "We move to Lisbon in May.\nNobody knows why.\n"


@dataclass
class Watcher:
    """The progress port: what was said, in order."""

    steps: list[str] = field(default_factory=list)
    trials: list[str] = field(default_factory=list)

    def step(self, text: str) -> None:
        self.steps.append(text)

    def planned(self, trials: int) -> None:
        self.steps.append(f"{trials} trials")

    def trial_started(self, planned: PlannedTrial, attempt: int) -> None:
        self.trials.append(f"+ {planned.trial} {attempt}")

    def trial_ended(self, planned: PlannedTrial, attempt: int, outcome: Outcome, reason: str) -> None:
        del reason
        self.trials.append(f"- {planned.trial} {attempt} {outcome}")


@dataclass
class Interruptions:
    """The interrupts port: `press` is Ctrl-C."""

    told: Callable[[int], None] | None = None
    pressed: int = 0

    @contextlib.contextmanager
    def watch(self, told: Callable[[int], None]) -> Iterator[None]:
        self.told, self.pressed = told, 0
        try:
            yield
        finally:
            self.told = None

    def press(self) -> None:
        if self.told is None:
            raise AssertionError("nobody watches for interruptions")
        self.pressed += 1
        self.told(self.pressed)


@dataclass
class Surroundings:
    """The outside of one test."""

    pods: Pods
    engine: FakeEngine
    files: MemoryFiles
    clock: FakeClock
    watcher: Watcher
    interrupts: Interruptions
    wheels: FakeIndex
    world: World
    no_engine: list[str] = field(default_factory=list)
    """A reason put in here: no engine answers."""

    def study(self, text: str = COMMAND_STUDY) -> Path:
        """A study and everything that it names is there, its corpus frozen."""
        self.files.put(STUDY, text)
        self.files.put(STUDY.parent / "tasks.toml", TASKS)
        self.files.put(STUDY.parent / "second.txt", "And then?\n")
        self.files.put(STUDY.parent / "labels.toml", LABELS)
        self.files.put(Path("/studies/notes/corpus.toml"), CORPUS)
        self.files.put(Path("/studies/notes/files/plan.md"), PLAN_NOTE)
        self.files.put(Path("/studies/notes/files/deep/other.md"), "Nothing else.\n")
        freeze_corpus(self.world, Path("/studies/notes/corpus.toml"))
        return STUDY


def make_images(folder: Path) -> None:
    """Four locked images stand in `folder`, with all that building them needs."""
    for name in ("gateway", "qdrant", "retrieval", "trial"):
        (folder / "images" / name / "program").mkdir(parents=True)
        (folder / "images" / name / "image.toml").write_text(IMAGE, "utf-8")
        (folder / "images" / name / "program" / "main.py").write_text(f"NAME = {name!r}\n", "utf-8")
    (folder / "images" / "base").mkdir()
    (folder / "images" / "base" / "base.toml").write_text(BASE, "utf-8")
    relock(build_in(folder, FakeIndex()))


def build_in(folder: Path, wheels: FakeIndex) -> Build:
    """How the images of `folder` are built."""
    archive = FakeArchive({"python3": ("3.11.2-1", (), deb({"usr/bin/python3.11": b"ELF"}))})
    return Build(folder / "images", Store(folder / "cache"), Tools(archive, wheels, FakeCompiler()), "amd64")


def surroundings(images: Path) -> Surroundings:
    """A fresh outside, whose images are those of the folder `images`."""
    pods, files, clock, watcher, wheels = Pods(), MemoryFiles(), FakeClock(), Watcher(), FakeIndex()
    engine, interrupts = FakeEngine(pods, clock=clock), Interruptions()
    no_engine: list[str] = []

    def the_engine() -> Engine:
        if no_engine:
            raise EnvironmentNotReady(no_engine[0], document="container engine", hint="run `make engine`")
        return engine

    owner = Owner("host", "boot", 1, "1")
    world = World(
        engine=the_engine,
        files=files,
        clock=clock,
        entropy=FakeEntropy(),
        vectors=MemoryVectors(),
        repositories=MemoryRepositories(),
        slots=MemorySlots(),
        build=build_in(images, wheels),
        progress=watcher,
        interrupts=interrupts,
        owner=owner,
        lives=lambda other: other == owner,
        harness=CODE.pin,
        code=lambda: CODE,
        places=Places(images=images / "images", cache=CACHE, runs=RUNS),
    )
    return Surroundings(pods, engine, files, clock, watcher, interrupts, wheels, world, no_engine)
