"""Repositories and images are named strictly: what one person writes means the same everywhere."""

from __future__ import annotations

import pytest

from runner.core.errors import StudyError
from runner.ports.registry import Place, is_loopback, parse_pinned, parse_place

DIGEST = "sha256:" + "0a" * 32


@pytest.mark.parametrize(
    ("text", "host", "name"),
    [
        ("registry.example/team/pairbench", "registry.example", "team/pairbench"),
        ("localhost/x", "localhost", "x"),
        ("127.0.0.1:5000/a__b/c.d-e", "127.0.0.1:5000", "a__b/c.d-e"),
        ("[::1]:5000/x", "[::1]:5000", "x"),
        ("docker.io/ada/trial", "docker.io", "ada/trial"),
    ],
)
def test_a_repository_has_a_host_and_a_name(text: str, host: str, name: str) -> None:
    """And is written as it was read."""
    assert parse_place(text) == Place(host, name)
    assert str(parse_place(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "registry.example", "registry.example/", "team/trial", "trial", "https://registry.example/x"),
        *("registry.example/Team", "registry.example/a//b", "registry.example/../x", "registry.example/x:tag"),
        *("registry.example/x@" + DIGEST, "user:secret@registry.example/x", "registry.example/-x", "a b.example/x"),
        "registry.example/" + "x" * 256,
    ],
)
def test_what_names_no_repository_is_refused(text: str) -> None:
    """A tag, a scheme and a user have no place in it."""
    with pytest.raises(StudyError, match="names no repository of a registry"):
        parse_place(text)


def test_an_image_is_named_by_its_digest() -> None:
    """The one name that can't come to mean something else."""
    assert parse_pinned(f"localhost:5000/x@{DIGEST}") == (Place("localhost:5000", "x"), DIGEST)


@pytest.mark.parametrize(
    "text", ["localhost/x", "localhost/x:latest", "localhost/x@sha256:0a", f"localhost/x@{DIGEST}0"]
)
def test_an_image_without_its_digest_is_refused(text: str) -> None:
    """Whoever pulls a tag doesn't know what they get."""
    with pytest.raises(StudyError, match="doesn't name an image by digest"):
        parse_pinned(text)


@pytest.mark.parametrize(
    ("host", "local"),
    [
        *(("localhost", True), ("localhost:5000", True), ("127.0.0.1", True), ("127.9.9.9:1", True), ("[::1]", True)),
        *(("[::1]:5000", True), ("localhost.example", False), ("127.0.0.1.example", False), ("10.0.0.1", False)),
        *(("[::2]:5000", False), ("", False), ("LocalHost:1", True), ("[::ffff:127.0.0.1]:5000", True), ("::1", False)),
        *(("[0:0:0:0:0:0:0:1]", True), ("127.999.0.1", False), ("127.1", False), ("0.0.0.0", False), ("[::1", False)),
    ],
)
def test_this_machine_is_told_from_others(host: str, *, local: bool) -> None:
    """Only with it one may speak in the open."""
    assert is_loopback(host) is local
