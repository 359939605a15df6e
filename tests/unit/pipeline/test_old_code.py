"""The code that a run keeps: walled in when it runs in a container, and never shown raw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runner.archives.harness import harness_of, installed_files
from runner.core import layout
from runner.core.errors import EnvironmentNotReady, EvidenceError
from runner.core.tars import files_of
from runner.images.relock import relock
from runner.pipeline.archiving import _shared
from runner.pipeline.concluding import conclude, verify_evidence
from runner.pipeline.executing import run_study
from runner.pipeline.imaging import runner_image
from runner.pipeline.old_code import contained, with_code
from runner.pipeline.rooms import Room, room_of
from tests.fakes.engine import Hang
from tests.fakes.image_tools import FakeIndex, wheel
from tests.fakes.surroundings import CODE, INSTALLED, build_in, make_images, surroundings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tests.fakes.engine import Box
    from tests.fakes.surroundings import Surroundings

RUNNER = """
format = "pairbench/image"
version = 1
user = "0"
entrypoint = ["python3", "/opt/pairbench/start/main.py"]
pod = false
wheels = [{ name = "click", version = "8.0" }]
"""


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny images, and one that the program itself runs in."""
    folder = tmp_path_factory.mktemp("images")
    make_images(folder)
    (folder / "images" / "runner").mkdir()
    (folder / "images" / "runner" / "image.toml").write_text(RUNNER, "utf-8")
    index = FakeIndex({"click": ("8.0", (), wheel({"click.py": b"C = 1\n"}))})
    relock(build_in(folder, index), names=["runner"])
    return folder


@pytest.fixture
def ran(images: Path) -> tuple[Surroundings, Path]:
    """A run that ended, and where it lies."""
    made = surroundings(images)
    made.wheels.wheels["click"] = ("8.0", (), wheel({"click.py": b"C = 1\n"}))
    folder = run_study(made.world, made.study()).folder
    conclude(made.files, folder)
    made.pods.roles["fill"] = lambda _: 0
    return made, folder


def begun() -> None:
    """The code began, and nothing is said of it."""


def test_a_container_has_nothing_but_run_and_code(ran: tuple[Surroundings, Path]) -> None:
    """No network, no capability, no writable volume; what it says is shown line by line; nothing is left."""
    made, folder = ran
    seen: dict[str, object] = {}

    def old(box: Box) -> int:
        seen["lock"] = box.read(f"/study/{folder.name}/lock.json")
        seen["wheel"] = box.read(f"/study/{folder.name}/inputs/harness/pairbench-0.1.0-py3-none-any.whl")
        seen["code"] = box.read("/opt/pairbench/harness/runner/__init__.py")
        seen["holder"] = "holder.lock" in box.names(f"/study/{folder.name}")
        for path in (f"/study/{folder.name}/lock.json", "/opt/pairbench/harness/runner/__init__.py"):
            with pytest.raises(OSError, match="Read-only"):
                box.write(path, b"x")
        box.say(b"demo does not verify\x1b[2K\nmore\n")
        box.complain(b"by other code\n")
        return 4

    made.pods.roles["verify"] = old
    said = contained(made.world, CODE, folder, ("--json",), room_of(made.world), begun)
    assert (said.exit_code, said.output, said.complaints) == (
        4,
        "demo does not verify\\x1b[2K\nmore\n",
        "by other code\n",
    )
    assert seen["lock"] == made.files.read(folder / layout.LOCK)
    assert seen["wheel"] == CODE.wheel
    assert seen["code"] == b'__version__ = "0.1.0"\n'
    assert seen["holder"] is False
    (spec,) = (spec for spec in made.engine.specs.values() if spec.labels["pairbench.role"] == "verify")
    assert (spec.network, spec.network_of, spec.capabilities, spec.groups) == (None, None, (), ())
    assert (spec.user, spec.command) == ("65534:65534", ("verify", "--json", f"/study/{folder.name}"))
    assert [(mount.destination, mount.read_only) for mount in spec.mounts] == [
        ("/opt/pairbench/harness", True),
        (f"/study/{folder.name}", True),
    ]
    assert made.engine.owned() == ()


def test_a_code_that_ends_as_none_of_ours_does_proves_nothing(ran: tuple[Surroundings, Path]) -> None:
    """Killed, for instance; its last words are told."""
    made, folder = ran

    def old(box: Box) -> int:
        box.complain(b"a\nMemoryError\n")
        return 137

    made.pods.roles["verify"] = old
    with pytest.raises(EvidenceError, match="it ended with 137, as this program never does: MemoryError"):
        contained(made.world, CODE, folder, (), room_of(made.world), begun)
    assert made.engine.owned() == ()


def test_a_code_that_does_not_end_is_ended(ran: tuple[Surroundings, Path]) -> None:
    """After hours, and nothing of it is left."""
    made, folder = ran

    def old(_: Box) -> Iterator[Hang]:
        yield Hang()

    made.pods.roles["verify"] = old  # type: ignore[assignment]  # it never returns
    with pytest.raises(EnvironmentNotReady, match="didn't end"):
        contained(made.world, CODE, folder, (), room_of(made.world), begun)
    assert made.engine.owned() == ()


def test_code_begins_when_nothing_else_is_left_to_begin(ran: tuple[Surroundings, Path]) -> None:
    """Whatever is said before that isn't its word."""
    made, folder = ran
    told: list[str] = []

    def old(_: Box) -> int:
        told.append("the code")
        return 0

    made.pods.roles["verify"] = old
    contained(made.world, CODE, folder, (), room_of(made.world), lambda: told.append("begins"))
    assert told == ["begins", "the code"]
    with pytest.raises(EnvironmentNotReady):
        contained(made.world, CODE, folder, (), Room("pairbench/runner:none", {}), lambda: told.append("begins"))
    assert told == ["begins", "the code"]
    assert made.engine.owned() == ()


def test_code_that_runs_here_gets_the_whole_wheel(ran: tuple[Surroundings, Path]) -> None:
    """And its exit code is passed on, if it is one of ours."""
    calls: list[tuple[Mapping[str, bytes], Sequence[str]]] = []

    class Here:
        ends = 4

        def versions(self) -> Mapping[str, str]:
            return {}

        def run(self, installed: Mapping[str, bytes], arguments: Sequence[str]) -> int:
            calls.append((installed, arguments))
            return self.ends

    programs = Here()
    assert with_code(CODE, ("verify", "/x"), programs) == 4
    ((installed, arguments),) = calls
    assert arguments == ("verify", "/x")
    assert installed["pairbench-0.1.0.dist-info/requirements.txt"] == b"click==8.0.1\n"
    programs.ends = 139
    with pytest.raises(EvidenceError, match="it ended with 139"):
        with_code(CODE, (), programs)


def test_evidence_is_held_by_the_code_at_hand_before_any_other_runs(ran: tuple[Surroundings, Path]) -> None:
    """A changed file, a surplus one, and a wheel that isn't of the lock's code are found without it."""
    made, folder = ran
    assert verify_evidence(made.files, folder) == (CODE, ())
    made.files.put(folder / "inputs/more.json", "x")
    assert [str(problem) for problem in verify_evidence(made.files, folder)[1]] == [
        "inputs/more.json: the ledger does not know this file"
    ]


def test_the_runner_of_an_archive_holds_the_code_of_its_runs(ran: tuple[Surroundings, Path]) -> None:
    """If they are all of one and keep it; else the code at hand, that of the archive itself."""
    made, _ = ran
    other = harness_of({"runner/__init__.py": b"OTHER = 1\n"}, INSTALLED)
    assert _shared([other, other]) == other
    assert _shared([other, CODE]) is None
    assert _shared([other, None]) is None
    assert _shared([]) is None
    for code, kept in ((other, other), (None, CODE)):
        image = runner_image(made.world, code)
        files = dict(installed_files(kept))
        layer = b"".join(made.world.build.store.read_blob(image.layers[-1].diff_id))
        found = files_of(layer, "layer")
        assert found == {f"opt/pairbench/harness/{name}": data for name, data in files.items()}
        assert image.layers[-1].made_of == f"pairbench 0.1.0, {kept.pin.source_sha256}"
