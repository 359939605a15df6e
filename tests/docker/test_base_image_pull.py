"""Where Debian's tools are absent, a real engine pulls the base by digest, and an image on it runs."""

from __future__ import annotations

import http.server
import os
import shutil
import threading
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runner.adapters.apt import AptPackages
from runner.adapters.base_images import EngineBaseImages
from runner.adapters.bytecode import ImageInterpreter
from runner.adapters.docker_engine import DockerEngine
from runner.adapters.wheels import PipWheels
from runner.core.canonical import Digest
from runner.core.errors import EnvironmentNotReady
from runner.images.archive import archive_chunks, verify_loaded
from runner.images.build import build_image
from runner.images.inputs import Build, Tools, host_arch
from runner.images.store import Store
from tests.fakes.image_tools import FakeArchive

if TYPE_CHECKING:
    from collections.abc import Iterator

    import docker

    from runner.images.oci import BuiltImage

pytestmark = [pytest.mark.docker, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache/images"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


@contextmanager
def registry_of(image: BuiltImage, store: Store, *, tampered: bool = False) -> Iterator[str]:
    """A registry on loopback that holds `image` and no more, as a reference by digest; or with a changed manifest."""
    documents: dict[str, bytes] = {
        image.config_digest: image.config,
        image.manifest_digest: image.manifest + (b" " if tampered else b""),
    }

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            name = self.path.rpartition("/")[2]
            data = b"{}" if self.path == "/v2/" else documents.get(name)
            if data is None and name in image.diff_ids:
                data = store.blob_path(Digest(name)).read_bytes()
            if data is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", MANIFEST if "/manifests/" in self.path else "application/octet-stream")
            self.send_header("Docker-Content-Digest", name)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(data)

        do_HEAD = do_GET  # noqa: N815 - the name that the server looks for

        def log_message(self, *args: object) -> None:
            del args

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}/pairbench/base@{image.manifest_digest}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def gateway() -> tuple[BuiltImage, Store]:
    """An image with a Python in it, to play somebody else's."""
    build = Build(ROOT / "images", Store(CACHE), real_tools(), host_arch())
    return build_image("gateway", build), build.store


def real_tools() -> Tools:
    return Tools(AptPackages(CACHE / "apt"), PipWheels(), ImageInterpreter())


def without_apt(folder: Path, reference: str, engine_address: str) -> Build:
    shutil.copytree(ROOT / "images", folder / "images")
    shutil.copytree(CACHE / "downloads/wheels", folder / "cache/downloads/wheels", copy_function=os.link)
    declaration = folder / "images/base/base.toml"
    python, site = "/usr/bin/python3.11", "/usr/local/lib/python3.11/dist-packages"
    text = f'\n[image]\nreference = "{reference}"\npython = "{python}"\nsite = "{site}"\n'
    declaration.write_text(declaration.read_text("utf-8") + text, "utf-8")
    tools = replace(
        real_tools(), packages=FakeArchive(present=False), base_images=EngineBaseImages(lambda: engine_address)
    )
    return Build(folder / "images", Store(folder / "cache"), tools, host_arch())


def test_an_image_on_a_pulled_base_runs(
    gateway: tuple[BuiltImage, Store], engine: docker.DockerClient, engine_address: str, tmp_path: Path
) -> None:
    """The engine pulls by digest, its layers are the base, wheels and programs come above, and Python finds them."""
    with registry_of(*gateway) as reference:
        build = without_apt(tmp_path, reference, engine_address)
        image = build_image("gateway", build)
    assert image.diff_ids[: len(gateway[0].diff_ids)] == gateway[0].diff_ids
    port = DockerEngine(engine_address)
    try:
        port.load_images(archive_chunks([image], build.store))
        facts = port.image(image.tag)
        assert facts is not None
        verify_loaded(image, reported_id=facts.identity, diff_ids=facts.diff_ids)
        output: bytes = engine.containers.run(
            image.tag,
            ["-c", "import h11; print(h11.__version__)"],
            entrypoint=["python3"],
            network_mode="none",
            labels={"pairbench.test": str(os.getpid())},
            remove=True,
        )
        assert output == b"0.16.0\n"
    finally:
        for name in (image.tag, reference):
            engine.images.remove(name)


def test_a_tampered_image_is_refused(gateway: tuple[BuiltImage, Store], engine_address: str, tmp_path: Path) -> None:
    """A registry that serves other bytes under the pinned digest gives no base."""
    image, store = gateway
    # A digest of its own: the engine keeps manifests that it has pulled, and asks for none of those again.
    unseen = replace(image, manifest=image.manifest + b"\n")
    with registry_of(unseen, store, tampered=True) as reference:
        build = without_apt(tmp_path, reference, engine_address)
        with pytest.raises(EnvironmentNotReady, match="can't be pulled"):
            build_image("gateway", build)


def test_an_image_that_nobody_has_is_told(
    gateway: tuple[BuiltImage, Store], engine_address: str, tmp_path: Path
) -> None:
    """A digest that the registry hasn't got ends in one error that names the reference."""
    with registry_of(*gateway) as reference:
        missing = reference.partition("@")[0] + "@sha256:" + "0" * 64
        build = without_apt(tmp_path, missing, engine_address)
        with pytest.raises(EnvironmentNotReady, match="0" * 64):
            build_image("gateway", build)
