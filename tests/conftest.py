"""What every test may ask for: the container engine, a network whose ports are published, Chromium.

A test that needs one of them carries its marker (`docker`, `chromium`, `compose`, `podman`, `registry`, or `daemon` for root and an installed dockerd)
and is skipped where it is missing. `--require NAME` says that it is there: then any skip of such a test is a failure.
A session that used the engine ends by proving that no container, volume or network with a label of ours is left.
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

import docker
import docker.errors
import hypothesis
import pytest

from runner.adapters.engine_address import fault_of, find_engine_address

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

ROOT: Final = Path(__file__).resolve().parent.parent
CACHE: Final = ROOT / ".cache"
NEEDS: Final = ("docker", "chromium", "compose", "daemon", "official", "podman", "registry")
OFFICIAL_NAMES: Final = ("qdrant/qdrant", "docker.io/qdrant/qdrant")
LABEL_PREFIX: Final = "pairbench."
CHROMIUM_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
VANISH_S: Final = 20.0
"""How long what another process of ours made may need to go away before it counts as left behind."""

ADDRESS: Final = pytest.StashKey[str]()
FAULTS: Final = pytest.StashKey[dict[str, str]]()
BEFORE: Final = pytest.StashKey[list[str]]()
LEFT: Final = pytest.StashKey[list[str]]()


# No test is timed: how fast examples come says how busy the machine is.
hypothesis.settings.register_profile("untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require",
        action="append",
        choices=NEEDS,
        default=[],
        help="fail instead of skipping where this is missing; may be given twice",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "compose: needs docker-compose")
    config.addinivalue_line("markers", "daemon: starts a container engine: needs root and dockerd")
    config.addinivalue_line("markers", "podman: needs root and podman")
    config.addinivalue_line("markers", "registry: needs the program docker-registry")
    config.addinivalue_line("markers", "official: needs an image of Qdrant's own in the engine")
    # The reaper image of testcontainers can't be pulled everywhere; fixtures and the check at the end do its work.
    os.environ["TESTCONTAINERS_RYUK_DISABLED"] = "true"
    address = find_engine_address(os.environ, CACHE)
    fault = fault_of(address, os.environ) if address else "no engine answers: run `make engine`"
    # It beats DOCKER_HOST, by which tests tell programs which engine there is, or that there is none.
    os.environ.pop("PAIRBENCH_ENGINE", None)
    if address and not fault:
        os.environ["DOCKER_HOST"] = address
        config.stash[ADDRESS] = address
        if address == find_engine_address({"PAIRBENCH_ENGINE": "private"}, CACHE):
            # The private engine shares this machine's loopback; testcontainers guesses otherwise inside a container.
            os.environ.setdefault("TESTCONTAINERS_HOST_OVERRIDE", "127.0.0.1")
    chromium = next((name for name in CHROMIUM_NAMES if shutil.which(name)), "")
    can_start = os.geteuid() == 0 and shutil.which("dockerd")
    config.stash[FAULTS] = {
        "docker": fault,
        "chromium": "" if chromium else "no Chromium: run `make chromium`",
        "compose": "" if shutil.which("docker-compose") else "no docker-compose: run `make compose`",
        "daemon": "" if can_start else "only root can start a daemon, and dockerd must be installed",
        "podman": ""
        if os.geteuid() == 0 and shutil.which("podman")
        else "only root can start podman, if it is installed",
        "registry": "" if _registry_program() else "no docker-registry: run scripts/registry.sh",
        "official": "" if not fault and _has_official(address) else "Qdrant's image isn't in the engine: pull it",
    }


def _registry_program() -> str:
    """The machine's docker-registry, or the one that scripts/registry.sh unpacked; "" when there is neither."""
    unpacked = CACHE / "registry" / "usr" / "bin" / "docker-registry"
    return shutil.which("docker-registry") or (str(unpacked) if unpacked.is_file() else "")


def _has_official(address: str | None) -> bool:
    """The engine holds an image of Qdrant's own."""
    with closing(docker.DockerClient(base_url=address)) as engine:
        tags = [tag for image in engine.images.list() for tag in image.tags]
    return any(tag.rpartition(":")[0] in OFFICIAL_NAMES for tag in tags)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not any(item.get_closest_marker("docker") for item in items) or config.stash[FAULTS]["docker"]:
        return
    with closing(docker.DockerClient(base_url=config.stash[ADDRESS])) as engine:
        before = sorted(labelled(engine))
    config.stash[BEFORE] = before


def pytest_runtest_setup(item: pytest.Item) -> None:
    for need, fault in item.config.stash[FAULTS].items():
        if fault and item.get_closest_marker(need):
            pytest.skip(f"{need}: {fault}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    asked = item.config.getoption("--require")
    required = [need for need in asked if item.get_closest_marker(need)]
    faults = item.config.stash[FAULTS]
    if any(faults[need] and item.get_closest_marker(need) for need in NEEDS if need not in asked):
        # What is missing is something that nobody said would be there.
        required = []
    if report.skipped and required and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped although {' and '.join(required)} is required: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if report.skipped and collector.config.getoption("--require"):
        report.outcome = "failed"
        report.longrepr = f"a whole module was skipped, and nobody can tell what it needs: {report.longrepr}"
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    if BEFORE not in config.stash:
        return
    with closing(docker.DockerClient(base_url=config.stash[ADDRESS])) as engine:
        before = config.stash[BEFORE]
        left = labelled(engine).difference(before)
        deadline = time.monotonic() + VANISH_S
        # A run beside this session makes and removes pods too: only what stays is left behind.
        while left and time.monotonic() < deadline:
            time.sleep(0.5)
            left &= labelled(engine)
    config.stash[LEFT] = sorted(left)
    if left and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for name in config.stash.get(LEFT, []):
        terminalreporter.write_line(f"left behind by the tests: {name}", red=True)


def labelled(engine: docker.DockerClient) -> frozenset[str]:
    """Every container, volume and network of the engine with a label of ours, as `kind id`."""
    found = set()
    for container in engine.api.containers(all=True):
        if _is_ours(container.get("Labels")):
            found.add(f"container {container['Id']}")
    for volume in engine.api.volumes().get("Volumes") or []:
        if _is_ours(volume.get("Labels")):
            found.add(f"volume {volume['Name']}")
    for network in engine.api.networks():
        if _is_ours(network.get("Labels")):
            found.add(f"network {network['Id']}")
    return frozenset(found)


def _is_ours(labels: dict[str, str] | None) -> bool:
    return any(key.startswith(LABEL_PREFIX) for key in labels or {})


@pytest.fixture(scope="session")
def engine_address(request: pytest.FixtureRequest) -> str:
    """The address of the engine, as DOCKER_HOST would hold it. For tests marked `docker`."""
    address: str = request.config.stash[ADDRESS]
    return address


@pytest.fixture(scope="session")
def engine(engine_address: str) -> Iterator[docker.DockerClient]:
    """A client of the engine. For tests marked `docker`."""
    with closing(docker.DockerClient(base_url=engine_address)) as client:
        yield client


@pytest.fixture(scope="session")
def published_network(engine: docker.DockerClient) -> Iterator[str]:
    """The name of a bridge network on which published ports work, also on the private engine, which has no default one."""
    network = engine.networks.create(f"pairbench-tests-{os.getpid()}", labels={"pairbench.test": str(os.getpid())})
    yield str(network.name)
    network.remove()


@pytest.fixture(scope="session")
def chromium() -> str:
    """The name of the Chromium program. For tests marked `chromium`."""
    return next(name for name in CHROMIUM_NAMES if shutil.which(name))


@pytest.fixture(scope="session")
def registry_program() -> str:
    """The path of docker-registry. For tests marked `registry`."""
    return _registry_program()
