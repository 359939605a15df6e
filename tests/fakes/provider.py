"""A provider over TLS, with an authority of its own: a real server that plays the two APIs and remembers what it saw.

What it answers is a behaviour that a test writes; the default one plays an agent by the gateway's own policy, under the
name of the model that was asked for, with a usage that it also adds up as what it bills.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import ipaddress
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import h11
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from gateway.exchange import BrokenOffError, Exchange, Request
from gateway.provider_errors import RefusedError, refusal_answer
from gateway.scripted import MODEL, ScriptedUpstream

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

KEY = "sk-provider-key-that-no-trial-may-see"


@dataclass(frozen=True)
class Seen:
    """One request as it came: names and values of headers in their order and spelling."""

    method: str
    target: str
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    def header(self, name: bytes) -> bytes | None:
        return next((value for key, value in self.headers if key.lower() == name), None)


@dataclass
class Reply:
    """What is sent back; `pieces` become chunks unless `whole` says that they make up one body of known length."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "application/json"),)
    pieces: Sequence[bytes] | AsyncIterator[bytes] = ()
    whole: bool = False
    breaks: bool = False
    """The connection ends after the pieces, where no end was due."""


Behaviour: TypeAlias = Callable[[Seen, int], Awaitable[Reply]]
"""Told the request and its number, from 1."""


@dataclass
class Provider:
    """A running server."""

    behaviour: Behaviour
    ca: bytes
    host: str = "127.0.0.1"
    port: int = 0
    requests: list[Seen] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)
    """Numbers of requests whose client went away before their answer's end."""
    went: threading.Event = field(default_factory=threading.Event)
    key: str = KEY

    @property
    def url(self) -> str:
        return f"https://{self.host}:{self.port}"

    def is_keyed(self, seen: Seen) -> bool:
        bearer = b"Bearer " + self.key.encode()
        return seen.header(b"x-api-key") == self.key.encode() or seen.header(b"authorization") == bearer


def agent(model_name: Callable[[str], str] = lambda asked: asked) -> Behaviour:
    """Plays an agent that searches, reads and answers; `model_name` says what the asked model is called in answers."""
    policy = ScriptedUpstream("provider")

    async def behave(seen: Seen, number: int) -> Reply:
        headers = tuple((name.decode().lower(), value.decode("latin-1")) for name, value in seen.headers)
        exchange = Exchange(number, 0, Request(seen.method, seen.target, headers, seen.body))
        try:
            answer = await policy.answer(exchange, lambda: None)
        except RefusedError as error:
            answer = refusal_answer(error, f"req_{number}")
        asked = answer.observe().model_asked or ""
        name = model_name(asked).encode()

        def named(piece: bytes) -> bytes:
            return piece.replace(MODEL.encode(), name)

        if isinstance(answer.body, bytes):
            return Reply(answer.status or 200, answer.headers, [named(answer.body)], whole=True)
        pieces = [named(burst.body) async for burst in answer.body]
        whole = answer.length_bytes is not None
        return Reply(answer.status or 200, answer.headers, pieces, whole=whole)

    return behave


@contextlib.contextmanager
def running_provider(behaviour: Behaviour, host: str = "127.0.0.1", listen: str = "127.0.0.1") -> Any:
    """A provider that listens on `listen` and whose certificate names `host`."""
    ca, chain = _authority(host)
    provider = Provider(behaviour, ca, host)
    ready = threading.Event()
    ends: list[Callable[[], object]] = []

    async def serve() -> None:
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        ends.append(lambda: loop.call_soon_threadsafe(ended.set))
        server = await asyncio.start_server(
            lambda reader, writer: _serve(provider, reader, writer), listen, 0, ssl=_context(chain), limit=1 << 20
        )
        provider.port = server.sockets[0].getsockname()[1]
        ready.set()
        await ended.wait()
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        # Connections that were given up close in the loop's next rounds.
        for _ in range(3):
            await asyncio.sleep(0)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(20)
    try:
        yield provider
    finally:
        ends[0]()
        thread.join(20)


async def _serve(provider: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    http = h11.Connection(h11.SERVER)
    try:
        with contextlib.suppress(ConnectionError, h11.RemoteProtocolError, ssl.SSLError, asyncio.CancelledError):
            while await _serve_one(provider, http, reader, writer):
                http.start_next_cycle()
    finally:
        writer.transport.abort()


async def _serve_one(
    provider: Provider, http: h11.Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bool:
    head: h11.Request | None = None
    body = bytearray()
    while True:
        event = http.next_event()
        if event is h11.NEED_DATA:
            http.receive_data(await reader.read(1 << 16))
        elif isinstance(event, h11.Request):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage):
            break
        else:
            return False
    assert head is not None
    raw = tuple((bytes(name), bytes(value)) for name, value in head.headers.raw_items())
    seen = Seen(head.method.decode(), head.target.decode(), raw, bytes(body))
    provider.requests.append(seen)
    number = len(provider.requests)
    try:
        if not provider.is_keyed(seen):
            reply = Reply(401, pieces=[b'{"type":"error","error":{"type":"authentication_error","message":"no"}}'])
        else:
            reply = await provider.behaviour(seen, number)
        await _send(http, writer, reply)
    except ConnectionError:
        provider.gone.append(number)
        provider.went.set()
        raise
    if reply.breaks:
        return False
    if http.our_state is not h11.DONE or http.their_state is not h11.DONE:
        await writer.drain()
    return http.our_state is h11.DONE and http.their_state is h11.DONE


async def _send(http: h11.Connection, writer: asyncio.StreamWriter, reply: Reply) -> None:
    framing = ("transfer-encoding", "chunked")
    if reply.whole:
        assert not isinstance(reply.pieces, AsyncIterator)
        framing = ("content-length", str(sum(map(len, reply.pieces))))
    writer.write(http.send(h11.Response(status_code=reply.status, headers=[*reply.headers, framing])) or b"")
    if isinstance(reply.pieces, AsyncIterator):
        with contextlib.suppress(BrokenOffError):
            async for piece in reply.pieces:
                await _write(writer, http.send(h11.Data(data=piece)))
    else:
        for piece in reply.pieces:
            await _write(writer, http.send(h11.Data(data=piece)))
    if reply.breaks:
        await writer.drain()
        writer.transport.abort()
        return
    writer.write(http.send(h11.EndOfMessage()) or b"")
    await writer.drain()


async def _write(writer: asyncio.StreamWriter, data: bytes | None) -> None:
    if writer.transport.is_closing():
        raise ConnectionResetError
    writer.write(data or b"")
    await writer.drain()
    await asyncio.sleep(0)


def _context(chain: bytes) -> ssl.SSLContext:
    import tempfile  # noqa: PLC0415 - a certificate can be loaded from a file alone

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with tempfile.NamedTemporaryFile() as file:
        file.write(chain)
        file.flush()
        context.load_cert_chain(file.name)
    return context


def _authority(host: str) -> tuple[bytes, bytes]:
    """The certificate of a new authority, and the key and certificate that it gives `host`."""
    now = dt.datetime.now(dt.UTC)
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority of a test")])
    authority = (
        _certificate(ca_name, ca_name, ca_key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(ca_key, hashes.SHA256())
    )
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host)), x509.DNSName("localhost")])
    certificate = (
        _certificate(subject, ca_name, key.public_key(), now)
        .add_extension(names, critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return authority.public_bytes(pem), secret + certificate.public_bytes(pem)


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: dt.datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
    )


def write_ca(provider: Provider, folder: Path) -> str:
    """The authority's certificate is in a file of `folder`, whose path is returned."""
    path = folder / "ca.pem"
    path.write_bytes(provider.ca)
    return str(path)
