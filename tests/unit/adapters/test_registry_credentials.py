"""Credentials come from Docker's configuration, and their texts appear nowhere."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import pytest

from runner.adapters.registry_credentials import Challenge, challenge_in, docker_credentials, refusal_in, token_in
from runner.core.errors import EnvironmentNotReady

if TYPE_CHECKING:
    from pathlib import Path

HOST = "registry.example"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of Docker's configuration, and the only one in which programs are found."""
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def configure(folder: Path, value: object) -> None:
    (folder / "config.json").write_text(json.dumps(value), "utf-8")


def helper(folder: Path, script: str) -> None:
    program = folder / "docker-credential-test"
    program.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    program.chmod(0o755)


def test_a_login_is_found(folder: Path) -> None:
    """As `docker login` writes it."""
    configure(folder, {"auths": {HOST: {"auth": base64.b64encode(b"ada:pass:word").decode()}}})
    found = docker_credentials(HOST)
    assert found is not None
    assert (found.username, found.password.text) == ("ada", "pass:word")
    assert docker_credentials("other.example") is None


def test_no_configuration_means_nobody(folder: Path) -> None:
    """Public images need no login."""
    assert docker_credentials(HOST) is None
    configure(folder, {"auths": {HOST: {}}})
    assert docker_credentials(HOST) is None


def test_an_identity_token_is_found(folder: Path) -> None:
    """Which some logins leave in the place of a password."""
    configure(folder, {"auths": {HOST: {"auth": "", "identitytoken": "refresh-me"}}})
    found = docker_credentials(HOST)
    assert found is not None
    assert found.identity_token.text == "refresh-me"


def test_a_credential_helper_is_asked(folder: Path) -> None:
    """For its registry, by its own protocol."""
    helper(folder, f"""cat >{folder}/asked; echo '{{"ServerURL":"x","Username":"ada","Secret":"from-the-helper"}}'""")
    configure(folder, {"credHelpers": {HOST: "test"}})
    found = docker_credentials(HOST)
    assert found is not None
    assert (found.username, found.password.text) == ("ada", "from-the-helper")
    assert (folder / "asked").read_text("utf-8") == HOST


@pytest.mark.parametrize("script", ["echo a-secret-in-an-error; exit 1", "echo a-secret-that-is-no-json"])
def test_a_helper_that_fails_is_told_without_its_words(folder: Path, script: str) -> None:
    """They may hold what it was to give."""
    helper(folder, script)
    configure(folder, {"credsStore": "test"})
    with pytest.raises(EnvironmentNotReady) as told:
        docker_credentials(HOST)
    assert str(told.value) == (
        "~/.docker/config.json: Docker's configuration, or its credential helper, gives no credentials for "
        "registry.example (try `docker login registry.example`)"
    )
    assert told.value.__cause__ is None


@pytest.mark.parametrize("auth", ["not base64 at all!", base64.b64encode(b"no colon").decode(), 7])
def test_a_broken_login_is_told(folder: Path, auth: object) -> None:
    """Without what stands in it."""
    configure(folder, {"auths": {HOST: {"auth": auth}}})
    with pytest.raises(EnvironmentNotReady, match=r"gives no credentials for registry\.example"):
        docker_credentials(HOST)


@pytest.mark.parametrize(
    ("headers", "challenge"),
    [
        (['Basic realm="here, there"'], Challenge("basic", "here, there", "", ())),
        (
            ['Bearer realm="https://t.example/x",service="s",scope="a:b:pull,push c:d:pull"'],
            Challenge("bearer", "https://t.example/x", "s", ("a:b:pull,push", "c:d:pull")),
        ),
        (['BASIC realm="x"', 'bearer realm="y"'], Challenge("bearer", "y", "", ())),
        (["Negotiate"], None),
        ([], None),
    ],
)
def test_a_challenge_is_read(headers: list[str], challenge: Challenge | None) -> None:
    """RFC 9110 section 11.6.1, as far as registries use it."""
    assert challenge_in(headers) == challenge


@pytest.mark.parametrize(
    ("answer", "token"),
    [
        (b'{"token": "one", "access_token": "two"}', "one"),
        (b'{"access_token": "two"}', "two"),
        (b'{"token": "a\\r\\nHost: elsewhere"}', None),
        (b'{"token": 7}', None),
        (b"{}", None),
        (b'["token"]', None),
        (b"<html>", None),
        (b"\xff", None),
        (b"[" * 8000, None),
    ],
)
def test_a_token_must_fit_into_a_header(answer: bytes, token: str | None) -> None:
    """A token server can't add headers of its own, and what can't be read holds no token."""
    found = token_in(answer)
    assert (None if found is None else found.text) == token


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b'{"errors": [{"code": "DENIED", "message": "no"}, {"code": "UNKNOWN"}]}', "DENIED no; UNKNOWN"),
        (b'{"errors": [{"message": "no code"}, "text", {"code": "DENIED"}]}', "DENIED"),
        (b'{"errors": [{"code": "x", "message": "' + b"y" * 400 + b'"}]}', "x " + "y" * 298),
        (b'{"errors": {"code": "DENIED"}}', ""),
        (b"[]", ""),
        (b"[" * 8000, ""),
        (b'{"errors": ' + b"[" * 8000, ""),
    ],
)
def test_what_a_registry_says_of_its_refusal_is_a_few_words(answer: bytes, said: str) -> None:
    """Whatever it is, reading it is no fault of its own."""
    assert refusal_in(answer) == said
