"""Threat: a registry leads to somebody else, who asks for the user's credentials or isn't to be asked at all.

A stranger's registry may redirect, and name a token server. Where it leads to may answer as if it were the registry; it
may be a service of this machine or of its network; and what it answers may be made to break whoever reads it.
"""

from __future__ import annotations

import base64
import json
from contextlib import closing

import pytest

from runner.adapters.registry import HttpRepository
from runner.adapters.registry_credentials import Credentials
from runner.core.canonical import sha256_digest
from runner.core.errors import EnvironmentNotReady
from runner.core.secret import Secret
from runner.ports.registry import Place
from tests.fakes.registry import LoopbackServer, Reply, Request, serving

USER = Credentials("ada", Secret("a-password"), Secret(""))
BASIC = "Basic " + base64.b64encode(b"ada:a-password").decode()
REFRESHED = Credentials("", Secret(""), Secret("refresh-me"))
BLOB = b"a layer"
DIGEST = sha256_digest(BLOB)
HOSTS = {
    "registry.example": ("93.184.216.34",),
    "storage.example": ("93.184.216.35",),
    "printer.example": ("10.0.0.7",),
    "here.example": ("127.0.0.1",),
    "cloud.example": ("169.254.169.254",),
}


def asks(challenge: str) -> Reply:
    return Reply(401, headers=(("WWW-Authenticate", challenge),))


def fetch(host: str, user: Credentials | None = USER) -> bytes:
    """The blob as the registry of the host gives it."""
    with closing(HttpRepository(Place(host, "team/trial"), lambda _host: user, plain_http=False)) as asking:
        return b"".join(asking.blob(DIGEST, len(BLOB)))


def send(host: str) -> None:
    """The blob goes to the registry of the host."""
    with closing(HttpRepository(Place(host, "team/trial"), lambda _host: USER, plain_http=False)) as asking:
        asking.put_blob(DIGEST, len(BLOB), lambda: iter((BLOB,)))


def told(*servers: LoopbackServer) -> list[str]:
    """Every credential that the servers saw."""
    return [request.authorization for server in servers for request in server.requests if request.authorization]


@pytest.mark.parametrize("scheme", ['Bearer realm="http://{host}/token",service="x"', 'Basic realm="x"'])
@pytest.mark.parametrize("known", [True, False], ids=["after the registry asked", "at once"])
def test_where_a_registry_leads_to_asks_in_vain(scheme: str, *, known: bool) -> None:
    """A challenge counts when it is the registry's own; no token server of anybody else's is asked."""

    def stranger(request: Request) -> Reply:
        if request.path.startswith("/token"):
            return Reply(body=json.dumps({"token": "theirs"}).encode())
        return Reply(body=BLOB) if request.authorization else asks(scheme.format(host=storage.host))

    def behaviour(request: Request) -> Reply:
        if known and request.authorization == "":
            return asks('Basic realm="x"')
        return Reply(307, headers=(("Location", f"http://{storage.host}/layer?signature=abc"),))

    with serving(stranger) as storage, serving(behaviour) as registry:
        with pytest.raises(EnvironmentNotReady) as refused:
            fetch(registry.host)
        assert f"it leads to 'http://{storage.host}/layer', which wants to know who asks" in str(refused.value)
    assert told(storage) == []
    assert [request.path for request in storage.requests] == ["/layer?signature=abc"]
    assert told(registry) == ([BASIC] if known else [])


def test_where_an_upload_goes_asks_in_vain() -> None:
    """An address that a registry names for an upload is somebody else's too."""
    with serving(lambda _: asks(f'Bearer realm="http://{storage.host}/token"')) as storage:
        begun = Reply(202, headers=(("Location", f"http://{storage.host}/upload"),))
        with serving(lambda _: begun) as registry, pytest.raises(EnvironmentNotReady, match="wants to know who asks"):
            send(registry.host)
    assert told(storage, registry) == []
    assert [request.method for request in storage.requests] == ["PUT"]


@pytest.mark.parametrize("user", [USER, REFRESHED], ids=["password", "identity token"])
def test_credentials_go_to_another_token_server_only_encrypted(user: Credentials) -> None:
    """Who listens on another port of this machine may be anybody."""
    with serving(lambda _: Reply(body=b'{"token": "theirs"}')) as other:
        challenge = asks(f'Bearer realm="http://{other.host}/token"')
        with serving(lambda _: challenge) as registry, pytest.raises(EnvironmentNotReady, match="only encrypted"):
            fetch(registry.host, user)
    assert other.requests == []


def test_a_stranger_may_fetch_a_token_anywhere() -> None:
    """Who has no credentials has none to lose."""
    with serving(lambda _: Reply(body=b'{"token": "public"}')) as other:

        def behaviour(request: Request) -> Reply:
            if request.authorization == "Bearer public":
                return Reply(body=BLOB)
            return asks(f'Bearer realm="http://{other.host}/token"')

        with serving(behaviour) as registry:
            assert fetch(registry.host, None) == BLOB
    assert told(other) == []


def test_a_token_server_without_an_address_is_refused() -> None:
    """In words."""
    challenge = asks('Bearer realm="http://[::1/token"')
    with serving(lambda _: challenge) as registry, pytest.raises(EnvironmentNotReady, match="where none may be"):
        fetch(registry.host)


@pytest.mark.parametrize("status", [401, 500])
def test_an_answer_that_is_nested_without_end_is_one_that_says_nothing(status: int) -> None:
    """Reading it ends in an error of the registry's, not in one of this program's."""
    with serving(lambda _: Reply(status, b"[" * 8000)) as registry, pytest.raises(EnvironmentNotReady) as refused:
        fetch(registry.host)
    assert f"the registry answers {status}" in str(refused.value)


def test_a_token_that_is_nested_without_end_is_none() -> None:
    """As anything else that holds no token."""

    def behaviour(request: Request) -> Reply:
        if request.path.startswith("/token"):
            return Reply(body=b"[" * 8000)
        return asks(f'Bearer realm="http://{registry.host}/token"')

    with serving(behaviour) as registry, pytest.raises(EnvironmentNotReady, match="gives no token"):
        fetch(registry.host)


INSIDE = [
    "https://printer.example/x",
    "https://here.example/x",
    "http://cloud.example/latest/meta-data",
    "http://127.1/x",
]


@pytest.mark.parametrize("place", INSIDE)
@pytest.mark.parametrize("kind", ["redirect", "token server"])
def test_a_stranger_leads_nobody_inside(kind: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not to this machine, and not into its network, whatever the name for it, encrypted or not."""
    reply = Reply(307, headers=(("Location", place),)) if kind == "redirect" else asks(f'Bearer realm="{place}"')
    with serving(lambda _: reply) as proxy:
        through(proxy, monkeypatch)
        with (
            closing(stranger_registry()) as asking,
            pytest.raises(EnvironmentNotReady, match=r"where (no registry may lead|none may be)"),
        ):
            asking.manifest(DIGEST)
    assert [request.path for request in proxy.requests] == [f"http://registry.example/v2/team/trial/manifests/{DIGEST}"]


def test_a_stranger_leads_to_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """As registries do that keep their layers in somebody's storage."""

    def behaviour(request: Request) -> Reply:
        if request.path.startswith("http://storage.example/"):
            return Reply(body=BLOB)
        return Reply(307, headers=(("Location", "http://storage.example/layer"),))

    with serving(behaviour) as proxy:
        through(proxy, monkeypatch)
        with closing(stranger_registry()) as asking:
            assert b"".join(asking.blob(DIGEST, len(BLOB))) == BLOB


def stranger_registry() -> HttpRepository:
    """One on the internet, with which the user wants to speak in the open."""

    def resolve(host: str) -> tuple[str, ...]:
        return ("127.0.0.1",) if host == "127.1" else HOSTS[host]

    return HttpRepository(Place("registry.example", "team/trial"), lambda _host: None, plain_http=True, resolve=resolve)


def through(server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks for another host asks the proxy."""
    for name in ("no_proxy", "NO_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", f"http://{server.host}")
