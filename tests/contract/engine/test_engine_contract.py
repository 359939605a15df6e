"""What the stages may rely on from any container engine."""

from __future__ import annotations

import io
import json
import os
import tarfile
from typing import TYPE_CHECKING

import pytest

from runner.archives.saved import read_saved
from runner.core.canonical import canonical_bytes, sha256_digest
from runner.core.errors import EngineError
from runner.core.owner import RUN
from runner.core.tars import TreeFile, tar_of
from runner.images.store import Store
from runner.ports.engine import Entry, Mount, Tmpfs, TmpfsVolume
from tests.contract.engine.conftest import Program
from tests.fakes.engine import Hang, Pause

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import docker

    from tests.contract.engine.conftest import Bench
    from tests.fakes.engine import Box, Script

MIB = 1 << 20


def _hangs(box: Box) -> Script:
    del box
    yield Hang()
    return 0


def _answers_a_signal(box: Box) -> Script:
    box.tell("ready")
    while True:
        if (yield Hang()) == "SIGUSR1":
            box.tell("sealed")


def _deaf(box: Box) -> Script:
    box.tell("ready")
    while True:
        yield Hang()


def _says_ready_late(box: Box) -> Script:
    yield Pause(60_000)
    box.tell("ready")
    yield Hang()
    return 0


def _says_ready_after_noise(box: Box) -> Script:
    box.say(b"not json\n[1]\n" + b'{"event": "other"}\n')
    yield Pause(100)
    box.tell("ready")
    yield Hang()
    return 0


def _dies(box: Box) -> int:
    box.say(b"nothing works\n")
    return 3


def _complains(box: Box) -> int:
    box.say(b"well so far\n")
    box.complain(b"it is wrong\n")
    return 2


def _prints(box: Box) -> int:
    box.say(b"0123456789" * 20_000)
    return 0


def _copies(box: Box) -> int:
    box.write("/out/copy", box.read("/in/folder/greeting"))
    return 0


def _writes_read_only(box: Box) -> int:
    try:
        box.write("/in/folder/new", b"x")
    except OSError as error:
        box.say(f"{error.errno}\n".encode())
    try:
        box.write("/new", b"x")
    except OSError as error:
        box.say(f"{error.errno}\n".encode())
    return 0


def _fills(box: Box) -> int:
    box.write("/pod/small", b"x" * 1000)
    try:
        box.write("/pod/big", b"x" * 3 * MIB)
    except OSError as error:
        box.say(f"{error.errno}\n".encode())
    return 0


def _holds(box: Box) -> Script:
    box.tell("ready")
    yield Hang()
    return 0


def _writes_into_the_pod(box: Box) -> int:
    box.write("/pod/said", b"hello")
    return 0


def _writes_a_tree(box: Box) -> int:
    box.write("/out/a", b"alpha")
    box.write("/out/deep/er/b", b"beta")
    box.make_link("/out/link")
    box.make_link("/out/zlink")
    return 0


HANGS = Program("import time; time.sleep(60)", _hangs)
DIES = Program("print('nothing works'); raise SystemExit(3)", _dies)
READY_LATE = Program('import time; time.sleep(60); print(\'{"event": "ready"}\')', _says_ready_late)
READY_AFTER_NOISE = Program(
    'import time\nprint(\'not json\\n[1]\\n{"event": "other"}\', flush=True)\ntime.sleep(0.1)\n'
    'print(\'{"event": "ready"}\', flush=True)\ntime.sleep(60)',
    _says_ready_after_noise,
)
ANSWERS = Program(
    "import signal, time\n"
    'signal.signal(signal.SIGUSR1, lambda *_: print(\'{"event": "sealed"}\', flush=True))\n'
    'print(\'{"event": "ready"}\', flush=True)\n'
    "while True: time.sleep(60)",
    _answers_a_signal,
)
DEAF = Program(
    "import signal, time\nsignal.signal(signal.SIGUSR1, signal.SIG_IGN)\n"
    'print(\'{"event": "ready"}\', flush=True)\nwhile True: time.sleep(60)',
    _deaf,
)
COMPLAINS = Program(
    "import sys; print('well so far'); sys.exit(print('it is wrong', file=sys.stderr) or 2)", _complains
)
PRINTS = Program("print('0123456789' * 20000, end='')", _prints)
COPIES = Program("open('/out/copy', 'wb').write(open('/in/folder/greeting', 'rb').read())", _copies)
WRITES_READ_ONLY = Program(
    "for path in ('/in/folder/new', '/new'):\n"
    "    try: open(path, 'wb')\n"
    "    except OSError as error: print(error.errno, flush=True)",
    _writes_read_only,
)
FILLS = Program(
    "open('/pod/small', 'wb').write(b'x' * 1000)\n"
    "try: open('/pod/big', 'wb', buffering=0).write(b'x' * 3 * 1024 * 1024) == 3 * 1024 * 1024 or "
    "open('/pod/more', 'wb', buffering=0).write(b'x')\n"
    "except OSError as error: print(error.errno)",
    _fills,
)
HOLDS = Program('import time; print(\'{"event": "ready"}\', flush=True); time.sleep(60)', _holds)
WRITES_POD = Program("open('/pod/said', 'wb').write(b'hello')", _writes_into_the_pod)
WRITES_TREE = Program(
    "import os\nos.makedirs('/out/deep/er')\nopen('/out/a', 'wb').write(b'alpha')\n"
    "open('/out/deep/er/b', 'wb').write(b'beta')\nos.symlink('/etc/passwd', '/out/link')\nos.link('/out/a', '/out/zlink')",
    _writes_a_tree,
)
ENDS = Program("pass", lambda _box: 0)


def files(bench: Bench, container: str, path: str, limit: int = MIB) -> dict[str, bytes]:
    return {
        entry.name: entry.data for entry in bench.engine.read_tree(container, path, limit) if entry.data is not None
    }


def test_the_engine_says_what_it_is(bench: Bench) -> None:
    """A lock names the engine and the machine below it."""
    info = bench.engine.info()
    assert info.cpus >= 1
    assert info.memory_bytes > 0
    assert info.architecture != ""
    assert info.version != ""


def test_an_image_is_told_from_none(bench: Bench) -> None:
    """What isn't there is None; what is there has an identity and layers."""
    assert bench.engine.image("pairbench/absent:none") is None
    found = bench.engine.image(bench.image)
    assert found is not None
    assert found.identity.startswith("sha256:")
    assert all(layer.startswith("sha256:") for layer in found.diff_ids)


def test_files_go_in_and_come_back(bench: Bench) -> None:
    """A volume is filled before its container starts, and read after it ended."""
    source, out = bench.volume("in"), bench.volume("out")
    mounts = (Mount(source, "/in", read_only=False), Mount(out, "/out", read_only=False))
    box = bench.container(COPIES, mounts=mounts)
    bench.engine.put_tar(box, "/in", tar_of({"folder/greeting": TreeFile(b"hello\n")}))
    bench.engine.start(box)
    assert bench.engine.wait(box, 30_000) == 0
    assert files(bench, box, "/out") == {"out/copy": b"hello\n"}
    assert files(bench, box, "/in") == {"in/folder/greeting": b"hello\n"}


def test_a_read_only_mount_and_the_root_refuse_writes(bench: Bench) -> None:
    """EROFS is 30, for the mount and for the root of the container alike."""
    source = bench.volume("in")
    filler = bench.container(ENDS, "filler", mounts=(Mount(source, "/in", read_only=False),))
    bench.engine.put_tar(filler, "/in", tar_of({"folder/greeting": TreeFile(b"hello\n")}))
    box = bench.container(WRITES_READ_ONLY, mounts=(Mount(source, "/in", read_only=True),))
    bench.engine.start(box)
    assert bench.engine.wait(box, 30_000) == 0
    assert bench.engine.output(box, 100) == b"30\n30\n"


def test_files_cannot_be_put_into_a_read_only_mount(bench: Bench) -> None:
    """The engine refuses, instead of writing past the mount."""
    source = bench.volume("in")
    box = bench.container(ENDS, mounts=(Mount(source, "/in", read_only=True),))
    with pytest.raises(EngineError):
        bench.engine.put_tar(box, "/in", tar_of({"greeting": TreeFile(b"hello\n")}))


def test_files_cannot_be_put_where_no_folder_is(bench: Bench) -> None:
    """A path that doesn't exist is a mistake of ours, and told."""
    source = bench.volume("in")
    box = bench.container(ENDS, mounts=(Mount(source, "/in", read_only=False),))
    with pytest.raises(EngineError):
        bench.engine.put_tar(box, "/in/nowhere", tar_of({"greeting": TreeFile(b"hello\n")}))


def test_a_volume_in_memory_is_full_at_its_size(bench: Bench) -> None:
    """ENOSPC is 28: a client that floods meets it, not the host's disk."""
    pod = bench.volume("pod", TmpfsVolume(2 * MIB, 0, 0, "1770"))
    box = bench.container(FILLS, mounts=(Mount(pod, "/pod", read_only=False),))
    bench.engine.start(box)
    assert bench.engine.wait(box, 30_000) == 0
    assert bench.engine.output(box, 100) == b"28\n"


def test_a_volume_in_memory_is_held_by_whoever_runs(bench: Bench) -> None:
    """What one container wrote is there while another one that mounts it runs."""
    pod = bench.volume("pod", TmpfsVolume(2 * MIB, 0, 0, "1777"))
    mount = Mount(pod, "/pod", read_only=False)
    holder = bench.container(HOLDS, "holder", mounts=(mount,))
    assert bench.engine.start_until_ready(holder, 30_000)
    writer = bench.container(WRITES_POD, "writer", mounts=(mount,))
    bench.engine.start(writer)
    assert bench.engine.wait(writer, 30_000) == 0
    assert files(bench, holder, "/pod") == {"pod/said": b"hello"}


def test_a_volume_in_memory_ends_with_its_last_container(bench: Bench) -> None:
    """Nothing of an attempt is left for the next one, nor on a disk."""
    pod = bench.volume("pod", TmpfsVolume(2 * MIB, 0, 0, "1777"))
    writer = bench.container(WRITES_POD, mounts=(Mount(pod, "/pod", read_only=False),))
    bench.engine.start(writer)
    assert bench.engine.wait(writer, 30_000) == 0
    assert files(bench, writer, "/pod") == {}


def test_links_are_told_and_never_followed(bench: Bench) -> None:
    """A symbolic link to /etc/passwd and a hard link have no data, whatever they lead to."""
    out = bench.volume("out")
    box = bench.container(WRITES_TREE, mounts=(Mount(out, "/out", read_only=False),))
    bench.engine.start(box)
    assert bench.engine.wait(box, 30_000) == 0
    entries = {entry.name: entry for entry in bench.engine.read_tree(box, "/out", MIB)}
    assert entries["out/a"] == Entry("out/a", "file", b"alpha")
    assert entries["out/deep/er/b"] == Entry("out/deep/er/b", "file", b"beta")
    assert entries["out/deep/er"].kind == "directory"
    others = {name: entry for name, entry in entries.items() if entry.kind == "other"}
    assert sorted(others) == ["out/link", "out/zlink"]
    assert all(entry.data is None and entry.detail for entry in others.values())


def test_a_tree_beyond_its_limit_is_refused(bench: Bench) -> None:
    """Evidence that is larger than the study allows doesn't fill the host's memory, and is no failure of the engine."""
    out = bench.volume("out")
    box = bench.container(ENDS, mounts=(Mount(out, "/out", read_only=False),))
    bench.engine.put_tar(box, "/out", tar_of({"big": TreeFile(b"x" * 200_000)}))
    assert files(bench, box, "/out") == {"out/big": b"x" * 200_000}
    *_, last = bench.engine.read_tree(box, "/out", 100_000)
    assert last == Entry("/out", "other", None, "more than 100000 bytes: nothing further was read")
    assert files(bench, box, "/out", 100_000) == {}


def test_a_tree_that_is_not_there_is_an_error(bench: Bench) -> None:
    """Missing evidence is told from none."""
    out = bench.volume("out")
    box = bench.container(ENDS, mounts=(Mount(out, "/out", read_only=False),))
    with pytest.raises(EngineError):
        files(bench, box, "/out/nowhere")


def test_an_exit_code_comes_back(bench: Bench) -> None:
    """Whoever waits, also after the end, gets the code of the process."""
    box = bench.container(DIES)
    bench.engine.start(box)
    assert bench.engine.wait(box, 30_000) == 3
    assert bench.engine.wait(box, 30_000) == 3


def test_waiting_ends_at_its_timeout(bench: Bench) -> None:
    """None, and the container still runs."""
    box = bench.container(HANGS)
    bench.engine.start(box)
    assert bench.engine.wait(box, 150) is None
    assert bench.engine.inspect(box).running


def test_ready_in_time(bench: Bench) -> None:
    """One line among others says so; what isn't JSON or another event is passed over."""
    box = bench.container(READY_AFTER_NOISE)
    assert bench.engine.start_until_ready(box, 30_000)
    assert bench.engine.inspect(box).running


def test_ready_too_late(bench: Bench) -> None:
    """A container that doesn't get ready in time is killed."""
    box = bench.container(READY_LATE)
    assert not bench.engine.start_until_ready(box, 300)
    assert bench.engine.wait(box, 30_000) == 137
    assert not bench.engine.inspect(box).running


def test_dying_before_it_is_ready(bench: Bench) -> None:
    """The end of a container ends the waiting for it; its output and code stay."""
    box = bench.container(DIES)
    assert not bench.engine.start_until_ready(box, 30_000)
    assert bench.engine.wait(box, 30_000) == 3
    assert bench.engine.output(box, 100) == b"nothing works\n"


def test_a_signal_is_answered(bench: Bench) -> None:
    """The gateway seals its evidence when it is told to, and goes on running."""
    box = bench.container(ANSWERS)
    assert bench.engine.start_until_ready(box, 30_000)
    assert bench.engine.signal_until(box, "SIGUSR1", "sealed", 30_000)
    assert bench.engine.signal_until(box, "SIGUSR1", "sealed", 30_000)
    assert bench.engine.inspect(box).running


def test_a_signal_that_is_not_answered_ends_nothing(bench: Bench) -> None:
    """Killing a gateway that doesn't answer would take the evidence with it that it holds."""
    box = bench.container(DEAF)
    assert bench.engine.start_until_ready(box, 30_000)
    assert not bench.engine.signal_until(box, "SIGUSR1", "sealed", 200)
    assert bench.engine.inspect(box).running


def test_a_signal_to_a_container_that_ended_is_an_error(bench: Bench) -> None:
    """There is nobody who could answer."""
    box = bench.container(ENDS)
    bench.engine.start(box)
    assert bench.engine.wait(box, 30_000) == 0
    with pytest.raises(EngineError):
        bench.engine.signal_until(box, "SIGUSR1", "sealed", 1000)


def test_killing_is_idempotent(bench: Bench) -> None:
    """A container that was never started, that runs, that ended, or that is gone: no error."""
    box = bench.container(HANGS)
    bench.engine.kill(box)
    bench.engine.start(box)
    bench.engine.kill(box)
    assert bench.engine.wait(box, 30_000) == 137
    bench.engine.kill(box)
    bench.engine.remove(box)
    bench.engine.kill(box)
    assert box not in {item.identity for item in bench.engine.owned()}


def test_removing_is_idempotent(bench: Bench) -> None:
    """A running container goes, and one that is gone is no error; neither is a volume that never was."""
    out = bench.volume("out")
    box = bench.container(HANGS, mounts=(Mount(out, "/out", read_only=False),))
    bench.engine.start(box)
    bench.engine.remove(box)
    bench.engine.remove(box)
    bench.engine.remove_volume(out)
    bench.engine.remove_volume(out)
    assert not {box, out} & {item.identity for item in bench.engine.owned()}


def test_a_volume_in_use_is_kept(bench: Bench) -> None:
    """A container that ended still uses its volumes: the order of removal matters."""
    out = bench.volume("out")
    box = bench.container(ENDS, mounts=(Mount(out, "/out", read_only=False),))
    with pytest.raises(EngineError):
        bench.engine.remove_volume(out)
    assert {box, out} <= {item.identity for item in bench.engine.owned()}


def test_what_is_ours_is_listed_with_its_labels(bench: Bench) -> None:
    """The reaper goes by labels alone; containers that never started are listed too."""
    out = bench.volume("out")
    box = bench.container(ENDS)
    own = {(item.kind, item.identity): item.labels[RUN] for item in bench.engine.owned()}
    assert own[("container", box)] == bench.run
    assert own[("volume", out)] == bench.run


def test_a_name_is_given_once(bench: Bench) -> None:
    """Two containers of one name would be taken for one another."""
    bench.container(ENDS)
    with pytest.raises(EngineError):
        bench.container(ENDS)


def test_an_image_that_is_not_there_is_an_error(bench: Bench) -> None:
    """Nothing is pulled in silence."""
    other = type(bench)(bench.engine, "pairbench/absent:none", bench.run, bench.programs)
    with pytest.raises(EngineError):
        other.container(ENDS, "absent")


def test_a_container_is_as_isolated_as_its_specification(bench: Bench) -> None:
    """No network, a read-only root, no capability but the named ones, no new privileges, limits."""
    source, out = bench.volume("in"), bench.volume("out")
    box = bench.container(
        HANGS,
        mounts=(Mount(source, "/in", read_only=True), Mount(out, "/out", read_only=False)),
        tmpfs=(Tmpfs("/tmp", MIB, 0, 0, "1777"),),
        user="10003:10003",
        capabilities=("KILL",),
    )
    bench.engine.start(box)
    seen = bench.engine.inspect(box)
    assert seen.running
    facts = seen.facts
    assert facts.id == box
    assert facts.network_mode == "none"
    assert facts.read_only
    assert facts.user == "10003:10003"
    assert [name.removeprefix("CAP_") for name in facts.cap_add] == ["KILL"]
    assert facts.cap_drop == ("ALL",)
    assert facts.security_opt == ("no-new-privileges",)
    assert (facts.memory_bytes, facts.pids_limit, facts.nano_cpus) == (128 * MIB, 32, 1_000_000_000)
    assert [(mount.destination, mount.type, mount.read_only) for mount in facts.mounts] == [
        ("/in", "volume", True),
        ("/out", "volume", False),
        ("/tmp", "tmpfs", False),
    ]
    assert facts.exit_code is None
    assert facts.was_started()


def test_the_end_of_a_container_is_recorded(bench: Bench) -> None:
    """Whether a service ended before its trial is told by these instants."""
    first, second = bench.container(DIES, "first"), bench.container(ENDS, "second")
    assert not bench.engine.inspect(first).facts.was_started()
    for box in (first, second):
        bench.engine.start(box)
        assert bench.engine.wait(box, 30_000) is not None
    one, other = bench.engine.inspect(first).facts, bench.engine.inspect(second).facts
    assert (one.exit_code, other.exit_code) == (3, 0)
    # An engine may write the start of a process down after its end, when it ended at once.
    assert "" < one.started_at < other.finished_at
    assert "" < one.finished_at < other.finished_at
    assert not one.oom_killed


def test_a_network_is_joined(bench: Bench) -> None:
    """The trial of an arm with a memory shares the loopback of its sidecar, and the engine says so."""
    sidecar = bench.container(HOLDS, "sidecar")
    assert bench.engine.start_until_ready(sidecar, 30_000)
    trial = bench.container(ENDS, "trial", network_of=sidecar)
    bench.engine.start(trial)
    assert bench.engine.wait(trial, 30_000) == 0
    assert bench.engine.inspect(trial).facts.network_mode == f"container:{sidecar}"
    bench.engine.remove(trial)


def test_a_network_of_ours_has_its_guests_and_goes_after_them(bench: Bench) -> None:
    """The gateway's way out: the engine names it where a container is on it, lists it as ours, and keeps it in use."""
    network = bench.network("way-out")
    guest = bench.container(HOLDS, "guest", network=network)
    assert bench.engine.start_until_ready(guest, 30_000)
    assert bench.engine.inspect(guest).facts.network_mode == network
    own = {(item.kind, item.identity): item.labels[RUN] for item in bench.engine.owned()}
    assert own[("network", network)] == bench.run
    with pytest.raises(EngineError):
        bench.engine.remove_network(network)
    bench.engine.remove(guest)
    bench.engine.remove_network(network)
    bench.engine.remove_network(network)
    assert ("network", network) not in {(item.kind, item.identity) for item in bench.engine.owned()}


def test_the_network_of_a_container_that_ended_cannot_be_joined(bench: Bench) -> None:
    """A trial whose sidecar died never starts."""
    sidecar = bench.container(ENDS, "sidecar")
    bench.engine.start(sidecar)
    assert bench.engine.wait(sidecar, 30_000) == 0
    trial = bench.container(ENDS, "trial", network_of=sidecar)
    with pytest.raises(EngineError):
        bench.engine.start(trial)


def test_output_is_cut_at_its_limit(bench: Bench) -> None:
    """The beginning is kept, to the byte."""
    box = bench.container(PRINTS)
    bench.engine.start(box)
    assert bench.engine.wait(box, 30_000) == 0
    assert bench.engine.output(box, 7) == b"0123456"
    assert bench.engine.output(box, 200_000) == b"0123456789" * 20_000
    assert bench.engine.output(box, MIB) == b"0123456789" * 20_000


def test_standard_error_is_told_apart(bench: Bench) -> None:
    """A program that refuses says there why."""
    box = bench.container(COMPLAINS)
    bench.engine.start(box)
    assert bench.engine.wait(box, 30_000) == 2
    assert bench.engine.output(box, 100) == b"well so far\n"
    assert bench.engine.complaints(box, 100) == b"it is wrong\n"
    assert bench.engine.complaints(box, 5) == b"it is"


def test_a_container_that_is_gone_is_an_error(bench: Bench) -> None:
    """Whoever asks about it has lost count."""
    box = bench.container(ENDS)
    bench.engine.remove(box)
    for ask in (bench.engine.inspect, bench.engine.start):
        with pytest.raises(EngineError):
            ask(box)
    with pytest.raises(EngineError):
        bench.engine.wait(box, 1000)
    with pytest.raises(EngineError):
        bench.engine.output(box, 10)


def test_an_archive_that_is_none_is_refused(bench: Bench) -> None:
    """A load that failed must not look like one that worked."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        data = json.dumps([{"Config": "blobs/sha256/absent", "RepoTags": ["pairbench/odd:1"], "Layers": []}]).encode()
        item = tarfile.TarInfo("manifest.json")
        item.size = len(data)
        archive.addfile(item, io.BytesIO(data))
    with pytest.raises(EngineError):
        bench.engine.load_images([stream.getvalue()])


def test_a_kill_is_no_death_by_memory(bench: Bench) -> None:
    """A client that the host ended isn't counted as out of memory."""
    box = bench.container(HANGS)
    bench.engine.start(box)
    bench.engine.kill(box)
    assert bench.engine.wait(box, 30_000) == 137
    assert not bench.engine.inspect(box).facts.oom_killed


@pytest.fixture
def tiny(bench: Bench, request: pytest.FixtureRequest) -> Iterator[tuple[str, bytes, bytes]]:
    """The tag, configuration and only layer of an image that the engine was given."""
    is_real = request.node.callspec.params["bench"] == "docker"
    client: docker.DockerClient | None = request.getfixturevalue("engine") if is_real else None
    layer = tar_of({"hello": TreeFile(b"hello\n")})
    diff_id = sha256_digest(layer)
    config = canonical_bytes(
        {"architecture": "amd64", "os": "linux", "config": {}, "rootfs": {"type": "layers", "diff_ids": [diff_id]}}
    )
    tag = f"pairbench/contract-saved:{os.getpid()}"
    name = f"blobs/sha256/{sha256_digest(config).removeprefix('sha256:')}"
    manifest = canonical_bytes([{"Config": name, "RepoTags": [tag], "Layers": ["layer.tar"]}])
    members = {name: TreeFile(config), "layer.tar": TreeFile(layer), "manifest.json": TreeFile(manifest)}
    bench.engine.load_images([tar_of(members)])
    yield tag, config, layer
    if client is not None:
        client.images.remove(tag, force=True)


def test_an_image_is_saved_as_it_was_given(bench: Bench, tiny: tuple[str, bytes, bytes], tmp_path: Path) -> None:
    """Whoever archives an image gets the configuration that its id is the digest of, and its layers."""
    tag, config, layer = tiny
    saved = read_saved(bench.engine.save_image(tag), Store(tmp_path), tag)
    assert saved.config == config
    assert [b"".join(Store(tmp_path).read_blob(blob.digest)) for blob in saved.layers] == [layer]


def test_an_image_that_is_not_there_cant_be_saved(bench: Bench) -> None:
    """It is an error, and not an empty archive."""
    with pytest.raises(EngineError):
        b"".join(bench.engine.save_image("pairbench/absent:1"))
