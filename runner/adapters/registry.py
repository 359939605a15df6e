"""A registry over HTTP (OCI distribution specification 1.0) behind the registry port.

Why not a library: the Python client of the ORAS project doesn't hold what it downloads to its digest, and follows
redirects with its credentials. What is needed of the protocol is seven requests.

Plain HTTP is spoken with a registry of this machine, and with another one only where the user says so. Credentials go
to the registry, and encrypted to the token server that it names itself, and nowhere else: not along a redirect, not to
another origin, and not to whom another origin names.
"""

from __future__ import annotations

import re
import urllib.parse
import urllib.request
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import urllib3

from runner.adapters.registry_credentials import challenge_in, refusal_in, token_in, without_secrets
from runner.adapters.registry_reach import addresses_of, bare, joined, leads_no_further_in, origin
from runner.core.errors import EnvironmentNotReady, EvidenceError
from runner.core.secret import Secret
from runner.ports.registry import MANIFEST_LIMIT_BYTES, MANIFEST_TYPE, is_loopback

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from runner.adapters.registry_credentials import Challenge, Credentials
    from runner.core.canonical import Digest
    from runner.ports.registry import Place

_CONNECT_TIMEOUT_S: Final = 10
_SILENCE_TIMEOUT_S: Final = 120
_PIECE_BYTES: Final = 1 << 20
_ERROR_BYTES: Final = 8192
_TOKEN_BYTES: Final = 1 << 20
_MOST_REDIRECTS: Final = 5
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_MANIFEST_TYPES: Final = f"{MANIFEST_TYPE}, application/vnd.docker.distribution.manifest.v2+json"
_CONNECTION: Final = re.compile(r"^HTTPS?Connection(?:Pool)?\([^)]*\): ")
# The one registry whose API isn't where its name says.
_API_HOSTS: Final = {"docker.io": "registry-1.docker.io"}


class HttpRepository:
    """The repository `place` of a registry; `credentials` is asked the first time that the registry wants to know."""

    def __init__(
        self,
        place: Place,
        credentials: Callable[[str], Credentials | None],
        *,
        plain_http: bool,
        resolve: Callable[[str], tuple[str, ...]] = addresses_of,
    ) -> None:
        """Nothing is asked yet; `resolve` knows the addresses of a host."""
        self._place = place
        self._find_credentials = credentials
        self._plain_http = plain_http
        self._resolve = resolve
        scheme = "http" if plain_http or place.is_loopback else "https"
        self._root = f"{scheme}://{_API_HOSTS.get(place.host, place.host)}"
        self._pool = _pool(self._root)
        self._authorization: Secret | None = None
        self._known = False
        self._secrets: tuple[str, ...] = ()

    @property
    def place(self) -> Place:
        """Which one it is."""
        return self._place

    def close(self) -> None:
        """No connection is open any more."""
        self._pool.clear()

    def has_blob(self, digest: Digest, size_bytes: int) -> bool:
        """Whether the blob is there."""
        with self._asked("HEAD", self._url(f"blobs/{digest}"), f"blob {digest}") as answer:
            if answer.status == 200:
                length = answer.headers.get("Content-Length")
                if length is not None and length != str(size_bytes):
                    raise self._other(f"it has {size_bytes} bytes, and the registry says {length}", f"blob {digest}")
                return True
            if answer.status == 404:
                return False
            raise self._refusal(answer, f"blob {digest}")

    def mount_blob(self, digest: Digest, source: Place) -> bool:
        """Whether the blob is there now, taken from another repository of the same registry; False: it must be sent."""
        if source.host != self._place.host:
            return False
        query = urllib.parse.urlencode({"mount": digest, "from": source.name})
        with self._asked("POST", self._url(f"blobs/uploads/?{query}"), f"blob {digest}") as answer:
            if answer.status == 202:
                # It began an upload instead; one that nobody goes on with is the registry's to forget.
                self._give_up(answer)
            # Who may not read the other repository can send the blob all the same.
            return answer.status == 201

    def put_blob(self, digest: Digest, size_bytes: int, chunks: Callable[[], Iterator[bytes]]) -> None:
        """The blob is there; `chunks` may be asked for more than once, when the registry wants it sent again."""
        what = f"blob {digest}"
        with self._asked("POST", self._url("blobs/uploads/"), what) as answer:
            if answer.status != 202:
                raise self._refusal(answer, what)
            place = self._location(answer, what)
        place += f"{'&' if '?' in place else '?'}{urllib.parse.urlencode({'digest': digest})}"
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(size_bytes)}
        with self._asked("PUT", place, what, headers, chunks) as answer:
            if answer.status != 201:
                raise self._refusal(answer, what)
            self._held_to(digest, answer, what)

    def blob(self, digest: Digest, size_bytes: int) -> Iterator[bytes]:
        """The bytes that the registry gives for the blob, as they come."""
        what = f"blob {digest}"
        with self._asked("GET", self._url(f"blobs/{digest}"), what) as answer:
            if answer.status != 200:
                raise self._refusal(answer, what)
            self._held_to(digest, answer, what)
            length = answer.headers.get("Content-Length")
            if length is not None and length != str(size_bytes):
                raise self._other(f"it has {size_bytes} bytes, and {length} are offered", what)
            yield from self._pieces(answer, what)

    def put_manifest(self, data: bytes, tag: str) -> None:
        """The manifest is there, under its digest and under `tag`."""
        headers = {"Content-Type": MANIFEST_TYPE, "Content-Length": str(len(data))}
        with self._asked(
            "PUT", self._url(f"manifests/{tag}"), f"manifest {tag}", headers, lambda: iter((data,))
        ) as answer:
            if answer.status != 201:
                raise self._refusal(answer, f"manifest {tag}")

    def manifest(self, digest: Digest) -> bytes:
        """The bytes that the registry gives for the manifest of `digest`."""
        what = f"manifest {digest}"
        with self._asked("GET", self._url(f"manifests/{digest}"), what, {"Accept": _MANIFEST_TYPES}) as answer:
            if answer.status != 200:
                raise self._refusal(answer, what)
            self._held_to(digest, answer, what)
            found = bytearray()
            for piece in self._pieces(answer, what):
                found += piece
                if len(found) > MANIFEST_LIMIT_BYTES:
                    raise self._other(f"more than {MANIFEST_LIMIT_BYTES} bytes came for it", what)
            return bytes(found)

    # ------------------------------------------------------------------------------------------------------ requests

    @contextmanager
    def _asked(
        self,
        method: str,
        url: str,
        what: str,
        headers: Mapping[str, str] | None = None,
        body: Callable[[], Iterator[bytes]] | None = None,
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        """The registry's answer, told who asks if it wants to know; its connection is free at the end."""
        with self._translated(what):
            answer = self._followed(method, url, what, headers or {}, body)
            challenge = challenge_in(answer.headers.getlist("WWW-Authenticate")) if answer.status == 401 else None
            if challenge is not None:
                _done_with(answer)
                self._authorization = self._authorized(challenge, what)
                answer = self._followed(method, url, what, headers or {}, body)
            try:
                yield answer
            finally:
                _done_with(answer)

    def _followed(
        self, method: str, url: str, what: str, headers: Mapping[str, str], body: Callable[[], Iterator[bytes]] | None
    ) -> urllib3.BaseHTTPResponse:
        """The answer to the request, wherever it leads; only what changes nothing is asked of another address.

        Raises:
            EnvironmentNotReady: it leads nowhere, or to somebody else who wants to know who asks.
        """
        for _ in range(_MOST_REDIRECTS + 1):
            answer = self._sent(method, url, headers, body)
            if answer.status == 401 and origin(url) != origin(self._root):
                _done_with(answer)
                raise self._fault(f"it leads to {bare(url)!r}, which wants to know who asks, and isn't told", what)
            if answer.status not in _REDIRECTS or method not in {"GET", "HEAD"}:
                return answer
            try:
                url = self._location(answer, what, url)
            finally:
                _done_with(answer)
        raise self._fault(f"it leads on, from one address to another, more than {_MOST_REDIRECTS} times", what)

    def _sent(
        self, method: str, url: str, headers: Mapping[str, str], body: Callable[[], Iterator[bytes]] | None
    ) -> urllib3.BaseHTTPResponse:
        all_headers = {"Accept-Encoding": "identity", "User-Agent": "pairbench", **headers}
        if self._authorization is not None and origin(url) == origin(self._root):
            all_headers["Authorization"] = self._authorization.text
        if body is None and method in {"POST", "PUT"}:
            all_headers["Content-Length"] = "0"
        return self._pool.request(
            method,
            url,
            body=None if body is None else body(),
            headers=all_headers,
            preload_content=False,
            decode_content=False,
            redirect=False,
            retries=False,
        )

    def _url(self, path: str) -> str:
        return f"{self._root}/v2/{self._place.name}/{path}"

    def _location(self, answer: urllib3.BaseHTTPResponse, what: str, base: str = "") -> str:
        """Where the answer leads to.

        Raises:
            EnvironmentNotReady: nowhere, or where what is sent could be read on its way.
        """
        place = answer.headers.get("Location")
        if not place:
            raise self._fault(f"it answers {answer.status} and doesn't say where to go on", what)
        url = joined(base or self._url(""), place)
        if not self._may_ask(url):
            raise self._fault(f"it leads to {bare(url)!r}, where no registry may lead", what)
        return url

    def _may_ask(self, url: str) -> bool:
        """Whether `url` is as well guarded as the registry, and stands no further in than that.

        A registry of this machine is the user's own, and may lead anywhere that is encrypted, or here.
        """
        parts = urllib.parse.urlsplit(joined(url, ""))
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            return False
        if self._place.is_loopback:
            return parts.scheme == "https" or is_loopback(parts.netloc.rpartition("@")[2])
        guarded = parts.scheme == "https" or self._plain_http
        return guarded and leads_no_further_in(self._root, url, self._resolve)

    def _give_up(self, answer: urllib3.BaseHTTPResponse) -> None:
        place = answer.headers.get("Location")
        url = joined(self._url(""), place or "")
        if place and self._may_ask(url):
            with suppress(urllib3.exceptions.HTTPError, OSError):
                _done_with(self._sent("DELETE", url, {}, None))

    def _pieces(self, answer: urllib3.BaseHTTPResponse, what: str) -> Iterator[bytes]:
        try:
            yield from answer.stream(_PIECE_BYTES, decode_content=False)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise self._fault("the answer broke off before its end", what, hint="try again") from error

    # ------------------------------------------------------------------------------------------------------- who asks

    def _authorized(self, challenge: Challenge, what: str) -> Secret | None:
        """What the registry wants to see in a header; None when nobody can say who asks."""
        credentials = self._find_credentials(self._place.host)
        self._known = credentials is not None
        self._secrets = () if credentials is None else credentials.secrets()
        if challenge.scheme == "basic":
            return None if credentials is None else credentials.basic()
        answer = self._token_answer(challenge, credentials, what)
        try:
            if answer.status != 200:
                raise self._refusal(answer, what, "token server")
            token = token_in(answer.read(_TOKEN_BYTES))
        finally:
            answer.close()
        if token is None:
            raise self._fault("the token server that it names gives no token", what)
        self._secrets = (*self._secrets, token.text)
        return Secret(f"Bearer {token.text}")

    def _token_answer(
        self, challenge: Challenge, credentials: Credentials | None, what: str
    ) -> urllib3.BaseHTTPResponse:
        if not self._may_ask(challenge.realm):
            raise self._fault(f"it names {bare(challenge.realm)!r} as its token server, where none may be", what)
        encrypted = origin(challenge.realm)[0] == "https"
        if credentials is not None and not encrypted and origin(challenge.realm) != origin(self._root):
            named = f"it names {bare(challenge.realm)!r} as its token server"
            raise self._fault(f"{named}, and credentials go to another one than itself only encrypted", what)
        wanted = [("service", challenge.service), *(("scope", scope) for scope in challenge.scopes)]
        wanted = [(key, value) for key, value in wanted if value]
        headers = {"Accept": "application/json"}
        body = None
        url = challenge.realm
        if credentials is not None and credentials.identity_token.text:
            form = [
                *(("grant_type", "refresh_token"), ("client_id", "pairbench")),
                ("refresh_token", credentials.identity_token.text),
                ("service", challenge.service),
                ("scope", " ".join(challenge.scopes)),
            ]
            body = urllib.parse.urlencode(form).encode()
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        else:
            url += f"{'&' if '?' in url else '?'}{urllib.parse.urlencode(wanted)}"
            if credentials is not None:
                headers["Authorization"] = credentials.basic().text
        headers["Connection"] = "close"
        return _pool(url).request(
            "GET" if body is None else "POST",
            url,
            body=body,
            headers=headers,
            preload_content=False,
            redirect=False,
            retries=False,
        )

    # --------------------------------------------------------------------------------------------------------- faults

    def _held_to(self, digest: Digest, answer: urllib3.BaseHTTPResponse, what: str) -> None:
        claimed = answer.headers.get("Docker-Content-Digest")
        if claimed is not None and claimed != digest:
            raise self._other(f"the registry says that it is {claimed}", what)

    def _other(self, message: str, what: str) -> EvidenceError:
        return EvidenceError(without_secrets(message, self._secrets), document=str(self._place), key=what)

    def _fault(self, message: str, what: str, hint: str = "") -> EnvironmentNotReady:
        return EnvironmentNotReady(
            without_secrets(message, self._secrets), document=str(self._place), key=what, hint=hint
        )

    def _refusal(self, answer: urllib3.BaseHTTPResponse, what: str, who: str = "registry") -> EnvironmentNotReady:
        said = _said(answer)
        message = f"the {who} answers {answer.status}{f': {said}' if said else ''}"
        unknown = answer.status in {401, 403}
        known = f"with the credentials that Docker has for {self._place.host}" if self._known else "without credentials"
        return self._fault(
            f"{message}, {known}" if unknown else message,
            what,
            f"docker login {self._place.host}" if unknown else "",
        )

    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        try:
            yield
        except urllib3.exceptions.SSLError as error:
            hint = "a certificate authority of your own is named by SSL_CERT_FILE; a registry without TLS: --plain-http"
            raise self._fault(f"no encrypted connection: {_cause(error)}", what, hint) from error
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise self._fault(f"it can't be reached: {_cause(error)}", what) from error


def _pool(url: str) -> urllib3.PoolManager:
    """Connections to whoever serves `url`, through the proxy that the environment names for it."""
    timeout = urllib3.Timeout(connect=_CONNECT_TIMEOUT_S, read=_SILENCE_TIMEOUT_S)
    parts = urllib.parse.urlsplit(url)
    proxy = urllib.request.getproxies().get(parts.scheme)
    if not proxy or is_loopback(parts.netloc) or urllib.request.proxy_bypass(parts.hostname or ""):
        return urllib3.PoolManager(timeout=timeout)
    return urllib3.ProxyManager(proxy, timeout=timeout)


def _done_with(answer: urllib3.BaseHTTPResponse) -> None:
    """Its connection can be used again where little of it is left to read, and is closed otherwise."""
    left = getattr(answer, "length_remaining", None)
    if left is not None and left <= _ERROR_BYTES:
        answer.drain_conn()
        answer.release_conn()
    else:
        answer.close()


def _said(answer: urllib3.BaseHTTPResponse) -> str:
    """What a registry says of its refusal, in a few words."""
    try:
        return refusal_in(answer.read(_ERROR_BYTES))
    except (urllib3.exceptions.HTTPError, OSError):
        return ""


def _cause(error: Exception) -> str:
    cause = error.args[-1] if error.args else error
    return _CONNECTION.sub("", str(getattr(cause, "strerror", None) or cause))[:300]
