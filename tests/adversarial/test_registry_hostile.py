"""Threat: a registry, or whoever stands before it, serves other bytes than were asked for, or wants a user's credentials.

It may answer anything: another layer under the right digest, too much, too little, another manifest, redirects without
end or to where nobody should be sent. Nothing but what a digest leads to may reach the cache, and no secret may leave
for anywhere but the registry and its token server.
"""

from __future__ import annotations

import base64
import json
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import pytest

from runner.adapters.registry import HttpRepository
from runner.adapters.registry_credentials import Credentials
from runner.core.canonical import canonical_bytes, sha256_digest
from runner.core.errors import EnvironmentNotReady, EvidenceError, PairbenchError
from runner.core.secret import Secret
from runner.images.store import Store
from runner.pipeline import registries
from runner.ports.registry import Place
from tests.fakes.registry import Reply, Request, serving
from tests.fakes.surroundings import Watcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.fakes.registry import Behaviour

PASSWORD = "a-password-that-may-appear-nowhere"
TOKEN = "a-token-that-may-appear-nowhere"
USER = Credentials("ada", Secret(PASSWORD), Secret(""))
BASIC = "Basic " + base64.b64encode(f"ada:{PASSWORD}".encode()).decode()
LAYER = b"a layer, as a tar would be " * 4000
CONFIG = canonical_bytes(
    {"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [sha256_digest(LAYER)]}}
)


def descriptor(media_type: str, data: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": sha256_digest(data), "size": len(data)}


def manifest(config: bytes = CONFIG, layer: bytes = LAYER, **changed: Any) -> bytes:
    value: dict[str, Any] = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": descriptor("application/vnd.oci.image.config.v1+json", config),
        "layers": [descriptor("application/vnd.oci.image.layer.v1.tar", layer)],
        **changed,
    }
    return canonical_bytes(value)


MANIFEST = manifest()
MANIFEST_PATH = f"GET /v2/team/trial/manifests/{sha256_digest(MANIFEST)}"
CONFIG_PATH = f"GET /v2/team/trial/blobs/{sha256_digest(CONFIG)}"
LAYER_PATH = f"GET /v2/team/trial/blobs/{sha256_digest(LAYER)}"
HONEST = {MANIFEST_PATH: Reply(body=MANIFEST), CONFIG_PATH: Reply(body=CONFIG), LAYER_PATH: Reply(body=LAYER)}


def answering(replies: dict[str, Reply]) -> Behaviour:
    return lambda request: replies.get(request.line, Reply(404, b'{"errors":[{"code":"UNKNOWN","message":"no"}]}'))


def nobody(_host: str) -> None:
    return None


@pytest.fixture
def repository() -> Iterator[Callable[..., HttpRepository]]:
    """Makes the repository `team/trial` of a host, which is closed at the end."""
    with ExitStack() as opened:

        def made(host: str, credentials: Credentials | None = USER) -> HttpRepository:
            place = Place(host, "team/trial")
            return opened.enter_context(closing(HttpRepository(place, lambda _host: credentials, plain_http=False)))

        yield made


@pytest.fixture
def pull(repository: Callable[..., HttpRepository], tmp_path: Path) -> Callable[..., Store]:
    """Pulls the image of MANIFEST (or of another) from a server that answers so, into a store of its own."""
    store = Store(tmp_path / "store")

    def pulled(behaviour: Behaviour, wanted: bytes = MANIFEST, **options: Any) -> Store:
        with serving(behaviour) as server:
            registries.pull(repository(server.host, None), sha256_digest(wanted), "trial", store, Watcher(), **options)
        return store

    return pulled


def kept(tmp_path: Path) -> list[str]:
    return [path.name for path in (tmp_path / "store").rglob("*") if path.is_file()]


def test_an_honest_registry_is_believed(pull: Callable[..., Store]) -> None:
    """Otherwise nothing below would say anything."""
    store = pull(answering(HONEST))
    assert b"".join(store.read_blob(sha256_digest(LAYER), verify=True)) == LAYER


FLIPPED = bytes([LAYER[0] ^ 1]) + LAYER[1:]
ATTACKS: dict[str, tuple[dict[str, Reply], str]] = {
    "a flipped byte of a layer": ({LAYER_PATH: Reply(body=FLIPPED)}, f"the bytes that came for blob {sha256_digest(LAYER)}"),
    "a layer that is longer": ({LAYER_PATH: Reply(body=LAYER + b"x")}, f"{len(LAYER) + 1} are offered"),
    "a layer that is shorter": ({LAYER_PATH: Reply(body=LAYER[:-1])}, f"{len(LAYER) - 1} are offered"),
    "a layer that breaks off": ({LAYER_PATH: Reply(body=LAYER[:9], length=len(LAYER))}, "broke off before its end"),
    "another configuration": ({CONFIG_PATH: Reply(body=CONFIG[:-1] + b" ")}, f"came for blob {sha256_digest(CONFIG)}"),
    "another manifest": ({MANIFEST_PATH: Reply(body=MANIFEST + b" ")}, f"not {sha256_digest(MANIFEST)}"),
    "a manifest without end": ({MANIFEST_PATH: Reply(body=b" " * (5 << 20))}, "more than 4194304 bytes came"),
    "a claim to hold another layer": (
        {LAYER_PATH: Reply(body=LAYER, headers=(("Docker-Content-Digest", "sha256:" + "0" * 64),))},
        "the registry says that it is sha256:0000",
    ),
    "a claim to hold another manifest": (
        {MANIFEST_PATH: Reply(body=MANIFEST, headers=(("Docker-Content-Digest", "sha256:" + "0" * 64),))},
        "the registry says that it is sha256:0000",
    ),
    "redirects without end": (
        {LAYER_PATH: Reply(307, headers=(("Location", LAYER_PATH.removeprefix("GET ")),))},
        "from one address to another",
    ),
    "a redirect to a file": ({LAYER_PATH: Reply(307, headers=(("Location", "file:///etc/passwd"),))}, "no registry may lead"),
    "a redirect to an open address": (
        {LAYER_PATH: Reply(302, headers=(("Location", "http://storage.example/layer?signature=abc"),))},
        "it leads to 'http://storage.example/layer'",
    ),
    "a redirect to nowhere": ({LAYER_PATH: Reply(307)}, "doesn't say where"),
    "a redirect to no address": ({LAYER_PATH: Reply(307, headers=(("Location", "http://[::1/x"),))}, "no registry may lead"),
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_false_reaches_the_store(pull: Callable[..., Store], tmp_path: Path, attack: str) -> None:
    """One error says what is wrong and with which blob, and no file of it is left."""
    replies, said = ATTACKS[attack]
    with pytest.raises((EvidenceError, EnvironmentNotReady)) as refused:
        pull(answering(HONEST | replies))
    assert said in str(refused.value)
    assert "team/trial" in str(refused.value)
    assert kept(tmp_path) == []


LIARS: dict[str, tuple[bytes, str]] = {
    "an index": (manifest(manifests=[], layers=[]), "index of images"),
    "no layers": (manifest(layers=[]), "no manifest of an image"),
    "another schema": (manifest(schemaVersion=1), "no manifest of an image"),
    "a negative size": (
        manifest(layers=[{"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": "sha256:" + "0" * 64, "size": -1}]),
        "no size",
    ),
    "a digest that is a path": (
        manifest(layers=[{"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": "sha256:../../x", "size": 1}]),
        "no digest that can be checked",
    ),
    "a packed layer": (
        manifest(layers=[descriptor("application/vnd.oci.image.layer.v1.tar+gzip", LAYER)]),
        "let the engine pull any other one",
    ),
    "a configuration that fills the memory": (
        manifest(config=CONFIG, layers=[descriptor("application/vnd.oci.image.layer.v1.tar", LAYER)]).replace(
            f'"size":{len(CONFIG)}'.encode(), b'"size":99999999'
        ),
        "its configuration has 99999999 bytes",
    ),
    "no JSON": (b"<html>", "trial@sha256"),
    "a list": (b"[]", "the manifest is no object"),
}  # fmt: skip


@pytest.mark.parametrize("liar", LIARS)
def test_a_manifest_that_nobody_should_follow_is_refused(pull: Callable[..., Store], tmp_path: Path, liar: str) -> None:
    """Also when it has the digest that was asked for: whoever wrote that down may have been led astray."""
    data, said = LIARS[liar]
    replies = {f"GET /v2/team/trial/manifests/{sha256_digest(data)}": Reply(body=data)}
    with pytest.raises(EvidenceError) as refused:
        pull(answering(HONEST | replies), data)
    assert said in str(refused.value)
    assert kept(tmp_path) == []


def test_a_configuration_for_other_layers_is_refused(pull: Callable[..., Store], tmp_path: Path) -> None:
    """The engine goes by the configuration, whoever checks by the manifest: they must agree."""
    other = canonical_bytes(
        {"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [sha256_digest(b"other")]}}
    )
    wanted = manifest(config=other)
    replies = {
        f"GET /v2/team/trial/manifests/{sha256_digest(wanted)}": Reply(body=wanted),
        f"GET /v2/team/trial/blobs/{sha256_digest(other)}": Reply(body=other),
        LAYER_PATH: Reply(body=LAYER),
    }
    with pytest.raises(EvidenceError, match="aren't those of its manifest"):
        pull(answering(replies), wanted)
    assert kept(tmp_path) == []


def test_an_image_beyond_the_limit_is_refused_before_it_is_fetched(pull: Callable[..., Store]) -> None:
    """The sizes that a manifest declares are bounded; more than was declared ends the fetching anyhow."""
    asked: list[str] = []

    def behaviour(request: Request) -> Reply:
        asked.append(request.line)
        return answering(HONEST)(request)

    with pytest.raises(EvidenceError, match="more than 1000"):
        pull(behaviour, most_bytes=1000)
    assert asked == [MANIFEST_PATH]


def test_a_layer_that_changed_in_the_store_is_fetched_again(pull: Callable[..., Store]) -> None:
    """What lies in the cache under the right name and length is no proof."""
    store = pull(answering(HONEST))
    store.blob_path(sha256_digest(LAYER)).write_bytes(FLIPPED)
    assert b"".join(pull(answering(HONEST)).read_blob(sha256_digest(LAYER))) == LAYER


def test_basic_credentials_go_where_they_are_asked_for(repository: Callable[..., HttpRepository]) -> None:
    """Once the registry asked, with every further request."""

    def behaviour(request: Request) -> Reply:
        if request.authorization != BASIC:
            return Reply(401, headers=(("WWW-Authenticate", 'Basic realm="here"'),))
        return answering(HONEST)(request)

    with serving(behaviour) as server:
        asking = repository(server.host)
        assert asking.manifest(sha256_digest(MANIFEST)) == MANIFEST
        assert b"".join(asking.blob(sha256_digest(LAYER), len(LAYER))) == LAYER
    assert [request.authorization for request in server.requests] == ["", BASIC, BASIC]


def bearer(host: Callable[[], str]) -> Behaviour:
    """A registry that is its own token server, as small ones are."""

    def behaviour(request: Request) -> Reply:
        if request.path.startswith("/token"):
            return Reply(body=json.dumps({"token": TOKEN}).encode())
        if request.authorization != f"Bearer {TOKEN}":
            asks = (
                f'Bearer realm="http://{host()}/token",service="the registry",scope="repository:team/trial:pull,push"'
            )
            return Reply(401, headers=(("WWW-Authenticate", asks),))
        return answering(HONEST)(request)

    return behaviour


def test_a_token_is_fetched_with_the_scope_that_was_asked_for(repository: Callable[..., HttpRepository]) -> None:
    """The password goes to the token server, the token to the registry."""
    with serving(bearer(lambda: server.host)) as server:
        assert repository(server.host).manifest(sha256_digest(MANIFEST)) == MANIFEST
    _, token, last = server.requests
    assert token.path == "/token?service=the+registry&scope=repository%3Ateam%2Ftrial%3Apull%2Cpush"
    assert (token.authorization, last.authorization) == (BASIC, f"Bearer {TOKEN}")


def test_a_stranger_gets_a_token_too(repository: Callable[..., HttpRepository]) -> None:
    """Public images need no credentials, and none are made up."""
    with serving(bearer(lambda: server.host)) as server:
        assert repository(server.host, None).manifest(sha256_digest(MANIFEST)) == MANIFEST
    assert [request.authorization for request in server.requests] == ["", "", f"Bearer {TOKEN}"]


def test_an_identity_token_is_exchanged(repository: Callable[..., HttpRepository]) -> None:
    """As `docker login` of some registries leaves one in the place of a password."""
    with serving(bearer(lambda: server.host)) as server:
        user = Credentials("", Secret(""), Secret("refresh-me"))
        assert repository(server.host, user).manifest(sha256_digest(MANIFEST)) == MANIFEST
    asked = server.requests[1]
    assert (asked.line, asked.authorization) == ("POST /token", "")
    assert b"grant_type=refresh_token" in asked.body
    assert b"refresh_token=refresh-me" in asked.body


def test_an_expired_token_is_fetched_anew(repository: Callable[..., HttpRepository]) -> None:
    """An upload may last longer than a token."""
    tokens = iter(["first", "second"])
    current = ""

    def behaviour(request: Request) -> Reply:
        nonlocal current
        if request.path.startswith("/token"):
            current = next(tokens)
            return Reply(body=json.dumps({"access_token": current}).encode())
        if request.authorization != f"Bearer {current}" or (current, request.line) == ("first", LAYER_PATH):
            asks = f'Bearer realm="http://{server.host}/token"'
            return Reply(401, headers=(("WWW-Authenticate", asks),))
        return answering(HONEST)(request)

    with serving(behaviour) as server:
        asking = repository(server.host)
        asking.manifest(sha256_digest(MANIFEST))
        assert b"".join(asking.blob(sha256_digest(LAYER), len(LAYER))) == LAYER


def test_credentials_do_not_follow_a_redirect(repository: Callable[..., HttpRepository]) -> None:
    """Storage that a registry leads to has a signed address; the user's password is none of its business."""
    with serving(lambda _: Reply(body=LAYER)) as storage:

        def behaviour(request: Request) -> Reply:
            if request.authorization != BASIC:
                return Reply(401, headers=(("WWW-Authenticate", 'Basic realm="here"'),))
            return Reply(307, headers=(("Location", f"http://{storage.host}/layer?signature=abc"),))

        with serving(behaviour) as server:
            asking = repository(server.host)
            assert b"".join(asking.blob(sha256_digest(LAYER), len(LAYER))) == LAYER
    (led,) = storage.requests
    assert (led.path, led.authorization) == ("/layer?signature=abc", "")


@pytest.mark.parametrize("status", [202, 401, 403, 404])
def test_a_blob_that_is_not_taken_over_is_to_be_sent(repository: Callable[..., HttpRepository], status: int) -> None:
    """Whoever may not read the other repository may send the blob; an upload that was begun is given up."""

    def behaviour(request: Request) -> Reply:
        if request.method == "DELETE":
            return Reply(405)
        return Reply(status, headers=(("Location", f"http://{server.host}/begun"),) if status == 202 else ())

    with serving(behaviour) as server:
        mounted = repository(server.host).mount_blob(sha256_digest(LAYER), Place(server.host, "team/other"))
    assert not mounted
    asked = f"POST /v2/team/trial/blobs/uploads/?mount={sha256_digest(LAYER).replace(':', '%3A')}&from=team%2Fother"
    assert [request.line for request in server.requests] == [asked, *(["DELETE /begun"] if status == 202 else [])]


def test_nothing_is_taken_over_from_another_registry(repository: Callable[..., HttpRepository]) -> None:
    """It couldn't be, and isn't asked for."""
    with serving(lambda _: Reply(201)) as server:
        assert not repository(server.host).mount_blob(sha256_digest(LAYER), Place("other.example", "team/other"))
    assert server.requests == []


def test_credentials_do_not_go_where_an_upload_is_sent(repository: Callable[..., HttpRepository]) -> None:
    """Nor to another address that the registry names for an upload."""
    with serving(lambda _: Reply(201)) as storage:

        def behaviour(request: Request) -> Reply:
            if request.authorization != BASIC:
                return Reply(401, headers=(("WWW-Authenticate", 'Basic realm="here"'),))
            return Reply(202, headers=(("Location", f"http://{storage.host}/upload?state=abc"),))

        with serving(behaviour) as server:
            repository(server.host).put_blob(sha256_digest(LAYER), len(LAYER), lambda: iter((LAYER,)))
    (sent,) = storage.requests
    assert sent.authorization == ""
    assert sent.body == LAYER
    assert sent.path == f"/upload?state=abc&digest={sha256_digest(LAYER).replace(':', '%3A')}"


def test_a_token_server_in_the_open_gets_nothing(repository: Callable[..., HttpRepository]) -> None:
    """A password for a registry isn't sent over an unprotected line to somebody else."""
    asks = 'Bearer realm="http://tokens.example/token",service="x"'
    with (
        serving(lambda _: Reply(401, headers=(("WWW-Authenticate", asks),))) as server,
        pytest.raises(EnvironmentNotReady, match=r"it names 'http://tokens\.example/token' as its token server"),
    ):
        repository(server.host).manifest(sha256_digest(MANIFEST))


@pytest.mark.parametrize("user", [USER, None], ids=["known", "unknown"])
def test_a_refusal_says_who_asked(repository: Callable[..., HttpRepository], user: Credentials | None) -> None:
    """And what to do; never with what."""
    refusal = Reply(
        401, b'{"errors":[{"code":"UNAUTHORIZED","message":"go away"}]}', (("WWW-Authenticate", 'Basic realm="here"'),)
    )
    with serving(lambda _: refusal) as server, pytest.raises(EnvironmentNotReady) as refused:
        repository(server.host, user).manifest(sha256_digest(MANIFEST))
    who = f"with the credentials that Docker has for {server.host}" if user else "without credentials"
    assert f"401: UNAUTHORIZED go away, {who} (docker login {server.host})" in str(refused.value)


@pytest.mark.parametrize("secret", [PASSWORD, BASIC.removeprefix("Basic "), TOKEN])
def test_a_secret_that_a_server_sends_back_is_in_no_error(
    repository: Callable[..., HttpRepository], secret: str
) -> None:
    """Some servers quote what they refuse."""
    said = json.dumps({"errors": [{"code": "DENIED", "message": f"not with {secret}!"}]}).encode()

    def behaviour(request: Request) -> Reply:
        if request.path.startswith("/token"):
            return Reply(body=json.dumps({"token": TOKEN}).encode())
        asks = f'Bearer realm="http://{server.host}/token"'
        return Reply(403, said) if request.authorization else Reply(401, headers=(("WWW-Authenticate", asks),))

    with serving(behaviour) as server, pytest.raises(PairbenchError) as refused:
        repository(server.host).manifest(sha256_digest(MANIFEST))
    assert secret not in refused.value.diagnostics()
    assert "not with (withheld)!" in str(refused.value)


def test_what_is_secret_shows_in_no_repr() -> None:
    """A traceback with local variables shows these."""
    assert PASSWORD not in repr(USER)
    assert PASSWORD not in repr(USER.basic())


def test_a_registry_elsewhere_is_asked_over_tls_only() -> None:
    """Only a registry of this machine is spoken to in the open, unless the user says so."""
    assert HttpRepository(Place("registry.example", "x"), nobody, plain_http=False)._root == "https://registry.example"
    assert HttpRepository(Place("registry.example", "x"), nobody, plain_http=True)._root == "http://registry.example"
    assert HttpRepository(Place("127.0.0.1.example", "x"), nobody, plain_http=False)._root.startswith("https:")
    for host in ("localhost:5000", "127.0.0.1:5000", "127.8.0.1", "[::1]:5000"):
        assert HttpRepository(Place(host, "x"), nobody, plain_http=False)._root == f"http://{host}"
