"""What the stages may rely on when an engine builds an image from a Dockerfile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from runner.adapters import image_builder
from runner.core.errors import EngineError
from runner.core.tars import TreeFile, tar_of
from runner.ports.engine import ImageBuild

if TYPE_CHECKING:
    from collections.abc import Iterator

    import docker

    from tests.contract.engine.conftest import Bench

TAG = "pairbench/contract:built"


@pytest.fixture
def tags(bench: Bench, request: pytest.FixtureRequest) -> Iterator[None]:
    """What the tests built is gone at the end."""
    real = request.node.callspec.params["bench"] == "docker"
    engine: docker.DockerClient | None = request.getfixturevalue("engine") if real else None
    yield
    for name in ("pairbench/contract:built", "pairbench/contract:again", "pairbench/contract:second"):
        if engine is not None and bench.engine.image(name) is not None:
            engine.images.remove(name, force=True)


def context(dockerfile: str) -> bytes:
    return tar_of({"sub/Dockerfile": TreeFile(dockerfile.encode()), "hello": TreeFile(b"hello\n")})


def build_of(dockerfile: str, **arguments: str) -> ImageBuild:
    return ImageBuild(context(dockerfile), "sub/Dockerfile", arguments, TAG)


@pytest.mark.usefixtures("tags")
def test_an_image_is_built_from_a_context(bench: Bench) -> None:
    """The Dockerfile is found by its path in the context, and the image by its id and its tag."""
    identity = bench.engine.build_image(build_of("FROM scratch\nCOPY hello /hello\n"))
    facts = bench.engine.image(TAG)
    assert facts is not None
    assert (facts.identity, facts.architecture, len(facts.diff_ids)) == (identity, "amd64", 1)


@pytest.mark.usefixtures("tags")
def test_an_image_is_tagged_again(bench: Bench) -> None:
    """Another name for an id; the tag moves when it was another's."""
    first = bench.engine.build_image(build_of("FROM scratch\nCOPY hello /hello\n"))
    second = bench.engine.build_image(
        ImageBuild(context("FROM scratch\nCOPY . /\n"), "sub/Dockerfile", {}, "pairbench/contract:second")
    )
    for identity in (first, second):
        bench.engine.tag_image(identity, "pairbench/contract:again")
        facts = bench.engine.image("pairbench/contract:again")
        assert facts is not None
        assert facts.identity == identity


def test_a_tag_for_an_image_that_is_not_there_is_refused(bench: Bench) -> None:
    """Nothing is pulled in silence."""
    with pytest.raises(EngineError, match=r"[Nn]o such image"):
        bench.engine.tag_image("sha256:" + "0" * 64, "pairbench/contract:again")


def test_a_build_that_fails_is_an_error(bench: Bench) -> None:
    """And there is no image by its tag."""
    with pytest.raises(EngineError):
        bench.engine.build_image(build_of("FROM scratch\nRUN FAIL\n"))
    assert bench.engine.image(TAG) is None


@pytest.mark.docker
@pytest.mark.parametrize("bench", ["docker"], indirect=True)
@pytest.mark.parametrize("builder", [image_builder.CLASSIC, image_builder.BUILDKIT])
@pytest.mark.usefixtures("tags")
def test_either_builder_says_what_failed(bench: Bench, builder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step and the last lines of what it printed are in the error, without colours; arguments reach the steps."""
    monkeypatch.setattr("runner.adapters.docker_engine.default_builder", lambda _api: builder)
    good = f"ARG BASE\nFROM ${{BASE}}\nUSER 0\nRUN cat /etc/passwd > /listed # {builder}\n"
    identity = bench.engine.build_image(build_of(good, BASE=bench.image))
    facts = bench.engine.image(TAG)
    assert facts is not None
    assert facts.identity == identity
    bad = f"ARG BASE\nFROM ${{BASE}}\nRUN printf '\\033[31mit said why\\033[0m\\n' && exit 7 # {builder}\n"
    with pytest.raises(EngineError) as caught:
        bench.engine.build_image(build_of(bad, BASE=bench.image))
    text = str(caught.value)
    assert "returned a non-zero code: 7" in text or "exit code: 7" in text
    assert " | it said why" in text
    assert "RUN printf" in text
    assert "\x1b" not in text


def test_an_engine_names_its_builder() -> None:
    """BuildKit only where the engine itself says that it is its default."""

    class Api:
        base_url = "http://engine"

        def __init__(self, headers: dict[str, str]) -> None:
            self.headers = headers

        def get(self, url: str) -> Any:
            assert url == "http://engine/_ping"
            return self

    assert image_builder.default_builder(Api({})) == image_builder.CLASSIC
    assert image_builder.default_builder(Api({"Builder-Version": "1"})) == image_builder.CLASSIC
    assert image_builder.default_builder(Api({"Builder-Version": "2"})) == image_builder.BUILDKIT
