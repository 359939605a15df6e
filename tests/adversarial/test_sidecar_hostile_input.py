"""Threat: what runs in a trial reaches the sidecar, and sends it whatever it likes: to end it, to make it forget or
invent points, to write outside its storage, or to leave a store behind that can't be opened again. Every request must
get an answer (or a closed connection), and afterwards the sidecar must still serve what it served before.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

MAIN = Path(__file__).parents[2] / "images" / "qdrant" / "sidecar" / "main.py"
BODY_LIMIT = 100_000
WITNESS = {"id": 1, "vector": [1.0, 2.0], "payload": {"a": 1}}


@contextmanager
def serving(folder: Path) -> Iterator[int]:
    """Yield the port of a sidecar, which is killed afterwards, as a trial's would be."""
    log = folder / "log"
    command = [sys.executable, str(MAIN), "serve", "--storage", str(folder / "storage"), "--port", "0"]
    with (
        log.open("wb") as out,
        subprocess.Popen([*command, "--body-bytes", str(BODY_LIMIT)], stdout=out) as process,
    ):
        try:
            while not (lines := log.read_text().splitlines(keepends=True)) or not lines[0].endswith("\n"):
                assert process.poll() is None
            yield json.loads(lines[0])["port"]
            assert process.poll() is None
        finally:
            process.kill()


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A sidecar with one collection and one point, which must be there after every test."""
    with serving(tmp_path_factory.mktemp("sidecar")) as port:
        ask(port, "PUT", "/collections/c", {"vectors": {"size": 2, "distance": "Dot"}})
        ask(port, "PUT", "/collections/c/points", {"points": [WITNESS]})
        yield port


@pytest.fixture(autouse=True)
def unharmed(port: int) -> Iterator[None]:
    """After every attack the sidecar answers, and its one collection holds its one point."""
    yield
    assert ask(port, "GET", "/collections")[1]["result"] == {"collections": [{"name": "c"}]}
    status, answer = ask(port, "POST", "/collections/c/points/scroll", {"with_vector": True})
    assert (status, answer["result"]["points"]) == (200, [WITNESS])


def ask(port: int, method: str, path: str, body: object = None) -> tuple[int, Any]:
    """The status and JSON of one request's answer; bytes go out as they are."""
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    with closing(HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.request(method, path, data)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def send(port: int, data: bytes) -> bytes:
    """What comes back for raw bytes, until the sidecar closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(65536), b""))
        except ConnectionError:
            return b""


RAW: dict[str, tuple[bytes, bytes]] = {
    "no request line": (b"\r\n\r\n", b"400"),
    "two words": (b"GET /\r\n\r\n", b"400"),
    "no HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"400"),
    "old version": (b"GET / HTTP/0.9\r\n\r\n", b"505"),
    "method with a space": (b"GE T / HTTP/1.1\r\n\r\n", b"400"),
    "method with brackets": (b"G(T / HTTP/1.1\r\n\r\n", b"400"),
    "absolute target": (b"GET http://x/ HTTP/1.1\r\n\r\n", b"400"),
    "bytes in target": (b"GET /\xff HTTP/1.1\r\n\r\n", b"400"),
    "tab in target": (b"GET /a\tb HTTP/1.1\r\n\r\n", b"400"),
    "header without colon": (b"GET / HTTP/1.1\r\nhost\r\n\r\n", b"400"),
    "header with a space before the colon": (b"GET / HTTP/1.1\r\nhost : x\r\n\r\n", b"400"),
    "folded header": (b"GET / HTTP/1.1\r\na: b\r\n c\r\n\r\n", b"400"),
    "two lengths": (b"GET / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab", b"400"),
    "negative length": (b"GET / HTTP/1.1\r\ncontent-length: -1\r\n\r\n", b"400"),
    "signed length": (b"GET / HTTP/1.1\r\ncontent-length: +1\r\n\r\na", b"400"),
    "long length": (b"GET / HTTP/1.1\r\ncontent-length: " + b"9" * 30 + b"\r\n\r\n", b"400"),
    "length beyond the limit": (b"PUT / HTTP/1.1\r\ncontent-length: 100001\r\n\r\n", b"413"),
    "chunks": (b"PUT / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", b"411"),
    "length and chunks": (
        b"PUT / HTTP/1.1\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"411",
    ),
    "many headers": (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n", b"431"),
    "a large head": (b"GET / HTTP/1.1\r\na: " + b"x" * 40_000, b"431"),
    "a large target": (b"GET /" + b"x" * 40_000, b"431"),
}


@pytest.mark.parametrize("case", RAW)
def test_malformed_http_is_refused_and_the_connection_closed(port: int, case: str) -> None:
    """What isn't a request gets an error in Qdrant's shape; nothing after it is taken for another request."""
    data, status = RAW[case]
    answer = send(port, data + b"GET /healthz HTTP/1.1\r\n\r\n")
    if answer:  # unread data may make the kernel drop the answer together with the connection
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.split(b" ")[1] == status
        assert b"connection: close" in head
        assert set(json.loads(body)) == {"status", "time"}


@pytest.mark.parametrize(
    "data",
    [b"", b"G", b"GET / HTTP/1.1\r\n", b"PUT /collections/c/points HTTP/1.1\r\ncontent-length: 1000\r\n\r\n{"],
)
def test_half_a_request_changes_nothing(port: int, data: bytes) -> None:
    """A client that goes away within its request gets no answer."""
    assert send(port, data) == b""


def test_requests_in_one_packet_are_answered_in_order(port: int) -> None:
    """Pipelined requests keep their boundaries, whatever their bodies look like."""
    body = b"GET /collections/nobody HTTP/1.1\r\n\r\n"
    first = b"POST /collections/c/points/count HTTP/1.1\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
    answer = send(port, first + b"GET /readyz HTTP/1.1\r\nconnection: close\r\n\r\n")
    assert re.findall(rb"HTTP/1\.1 (\d+)", answer) == [b"400", b"200"]


def test_answer_to_head_has_no_body(port: int) -> None:
    """HEAD is answered like GET, less the body."""
    answer = send(port, b"HEAD /collections/c HTTP/1.1\r\nconnection: close\r\n\r\n")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert (head.split(b" ")[1], body) == (b"200", b"")


def test_many_connections_at_once_do_not_exhaust_it(port: int) -> None:
    """Connections beyond the limit are closed; once the others are gone, it serves again."""
    connections = [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(300)]
    for connection in connections:
        connection.close()
    status = 0
    while status != 200:
        try:
            status = ask(port, "GET", "/collections/c")[0]
        except OSError:
            continue  # the threads of the closed connections haven't ended yet
    assert status == 200


BODIES: dict[str, bytes] = {
    "empty": b"",
    "half": b'{"points":',
    "not UTF-8": b'{"points": ["\xff"]}',
    "UTF-16": '{"points": []}'.encode("utf-16"),
    "NaN": b'{"points":[{"id":5,"vector":[NaN,1.0]}]}',
    "Infinity": b'{"points":[{"id":5,"vector":[Infinity,1.0]}]}',
    "a number beyond float64": b'{"points":[{"id":5,"vector":[1e999,1.0]}]}',
    "a number beyond float32": b'{"points":[{"id":5,"vector":[1e39,1.0]}]}',
    "a vector whose square is beyond float32": b'{"points":[{"id":5,"vector":[1e19,1.0]}]}',
    "an integer of 5000 digits": b'{"points":[{"id":5,"vector":[' + b"9" * 5000 + b",1.0]}]}",
    "an integer of 400 digits": b'{"points":[{"id":5,"vector":[' + b"9" * 400 + b",1.0]}]}",
    "booleans for numbers": b'{"points":[{"id":5,"vector":[true,false]}]}',
    "texts for numbers": b'{"points":[{"id":5,"vector":["1","2"]}]}',
    "a boolean for an id": b'{"points":[{"id":true,"vector":[1.0,1.0]}]}',
    "a float for an id": b'{"points":[{"id":5.0,"vector":[1.0,1.0]}]}',
    "a negative id": b'{"points":[{"id":-5,"vector":[1.0,1.0]}]}',
    "an id of 65 bits": b'{"points":[{"id":18446744073709551616,"vector":[1.0,1.0]}]}',
    "a text that is no UUID": b'{"points":[{"id":"../../etc","vector":[1.0,1.0]}]}',
    "a thousand levels": b'{"points":' + b"[" * 1000 + b"]" * 1000 + b"}",
    "forty thousand levels": b"[" * 40_000,
    "a list": b"[]",
    "null": b"null",
    "unknown field": b'{"points":[{"id":5,"vector":[1.0,1.0],"payloads":{}}]}',
    "nothing to do": b'{"points":[]}',
    "both forms": b'{"points":5,"batch":{"ids":[5],"vectors":[[1.0]]}}',
    "columns of different lengths": b'{"batch":{"ids":[5,6],"vectors":[[1.0,1.0]]}}',
    "payloads of another length": b'{"batch":{"ids":[5],"vectors":[[1.0,1.0]],"payloads":[{},{}]}}',
    "payload a list": b'{"points":[{"id":5,"vector":[1.0,1.0],"payload":[]}]}',
    "payload with infinity": b'{"points":[{"id":5,"vector":[1.0,1.0],"payload":{"x":1e999}}]}',
    "payload with a lone surrogate": b'{"points":[{"id":5,"vector":[1.0,1.0],"payload":{"x":"\\ud800"}}]}',
    "payload key with a lone surrogate": b'{"points":[{"id":5,"vector":[1.0,1.0],"payload":{"\\ud800":1}}]}',
    "payload integer of 65 bits": b'{"points":[{"id":5,"vector":[1.0,1.0],"payload":{"x":18446744073709551616}}]}',
    "shard key": b'{"points":[{"id":5,"vector":[1.0,1.0]}],"shard_key":"a"}',
    "a document": b'{"points":[{"id":5,"vector":{"text":"hello","model":"bm25"}}]}',
}


@pytest.mark.parametrize("case", BODIES)
def test_bad_upserts_are_refused_in_qdrants_shape(port: int, case: str) -> None:
    """A body that can't be right is refused with one sentence, and nothing of it is written."""
    status, answer = ask(port, "PUT", "/collections/c/points", BODIES[case])
    assert status in (400, 422, 501)
    assert isinstance(answer["status"]["error"], str)
    assert isinstance(answer["time"], float)


@pytest.mark.parametrize(
    "name",
    ["..", ".", ".hidden", "%2e%2e", "..%2f..%2fetc", "a%2fb", "a%5cb", "a%00b", "a%0ab", "%ff", "%zz", "a%", "x" * 256,
     "%C5%BE" * 128, "a:b", "a*b", "a%3Fb", "%22", "%7f"],
)  # fmt: skip
def test_collection_names_cannot_be_paths(port: int, name: str) -> None:
    """A name that could leave the storage, or isn't text, creates nothing."""
    status, _ = ask(port, "PUT", f"/collections/{name}", {"vectors": {"size": 2, "distance": "Dot"}})
    assert status in (400, 404, 422)


@pytest.mark.parametrize("name", ["ž", "with space", "a%2Eb", "%F0%9F%90%8E", "-", "x" * 255])
def test_unusual_names_are_fine(port: int, name: str) -> None:
    """Names that are text and no path can be used like any other."""
    path = "/collections/" + name.replace(" ", "%20").replace("ž", "%C5%BE")
    assert ask(port, "PUT", path, {"vectors": {"size": 2, "distance": "Dot"}})[0] == 200
    assert ask(port, "PUT", path + "/points", {"points": [WITNESS]})[0] == 200
    assert ask(port, "POST", path + "/points/count", {})[1]["result"] == {"count": 1}
    assert ask(port, "DELETE", path)[1]["result"] is True


QUERIES: dict[str, object] = {
    "limit 0": {"query": [1.0, 0.0], "limit": 0},
    "negative limit": {"query": [1.0, 0.0], "limit": -3},
    "fractional limit": {"query": [1.0, 0.0], "limit": 1.5},
    "limit of 64 bits": {"query": [1.0, 0.0], "limit": 2**64},
    "empty vector": {"query": []},
    "huge vector": {"query": [1e39, 0.0]},
    "query a boolean": {"query": True},
    "query a number": {"query": 1.5},
    "unknown kind": {"query": {"psychic": 1}},
    "two kinds": {"query": {"fusion": "rrf", "sample": "random"}},
    "document": {"query": {"text": "hello", "model": "bm25"}},
    "image": {"query": {"image": "x", "model": "clip"}},
    "unknown filter": {"query": [1.0, 0.0], "filter": {"may": []}},
    "empty condition": {"query": [1.0, 0.0], "filter": {"must": [{"key": "a"}]}},
    "mixed variants": {"query": [1.0, 0.0], "filter": {"must": [{"key": "a", "match": {"any": [1, "x"]}}]}},
    "bad key": {"query": [1.0, 0.0], "filter": {"must": [{"key": "a[", "match": {"value": 1}}]}},
    "bad time": {"query": [1.0, 0.0], "filter": {"must": [{"key": "a", "range": {"gte": "noon"}}]}},
    "off the Earth": {
        "query": [1.0, 0.0],
        "filter": {"must": [{"key": "a", "geo_radius": {"center": {"lon": 999.0, "lat": 0.0}, "radius": 1.0}}]},
    },
    "slice of nothing": {"query": [1.0, 0.0], "filter": {"must": [{"slice": {"total": 0, "index": 0}}]}},
    "prefetch without query": {"prefetch": [{"query": [1.0, 0.0]}]},
    "weights do not fit": {"prefetch": [{"query": [1.0, 0.0]}], "query": {"rrf": {"weights": [1.0, 2.0]}}},
    "division by zero": {
        "prefetch": [{"query": [1.0, 0.0]}],
        "query": {"formula": {"div": {"left": 1.0, "right": 0.0}}},
    },
    "unknown variable": {"prefetch": [{"query": [1.0, 0.0]}], "query": {"formula": "$nobody"}},
    "order without an index": {"query": {"order_by": "a"}},
    "unknown vector shown": {"query": [1.0, 0.0], "with_vector": ["nobody"]},
    "lookup elsewhere": {"query": 1, "lookup_from": {"collection": "nobody"}},
}


@pytest.mark.parametrize("case", QUERIES)
def test_bad_queries_are_refused_in_qdrants_shape(port: int, case: str) -> None:
    """A query that can't be answered gets one sentence and a status of 4xx or 501."""
    status, answer = ask(port, "POST", "/collections/c/points/query", QUERIES[case])
    assert status in (400, 404, 422, 501)
    assert "failed to extract" not in answer["status"]["error"]


@pytest.mark.parametrize(("limit", "offset"), [(2**63 - 1, 0), (10, 2**63 - 1), (2**63 - 1, 2**63 - 1), (10**9, 1)])
def test_enormous_limits_cost_nothing(port: int, limit: int, offset: int) -> None:
    """A limit far beyond the collection is answered from what there is."""
    query = {"query": [1.0, 0.0], "limit": limit, "offset": offset}
    status, answer = ask(port, "POST", "/collections/c/points/query", query)
    assert (status, len(answer["result"]["points"])) == (200, 1 if offset == 0 else 0)
    assert ask(port, "POST", "/collections/c/points/scroll", {"limit": limit})[0] == 200


def nested(levels: int, wrap: str) -> dict[str, Any]:
    """A filter within filters, or a prefetch within prefetches."""
    inner: dict[str, Any] = {"must": [{"key": "a", "match": {"value": 2}}]} if wrap != "prefetch" else {"query": 1}
    for _ in range(levels):
        if wrap == "nested":
            inner = {"must": [{"nested": {"key": "a", "filter": inner}}]}
        elif wrap == "prefetch":
            inner = {"prefetch": [inner], "query": [1.0, 0.0]}
        else:
            inner = {wrap: [inner]}
    return inner


@pytest.mark.parametrize("wrap", ["must", "should", "must_not", "nested"])
@pytest.mark.parametrize("levels", [12, 100, 200])
def test_deep_filters_are_refused(port: int, wrap: str, levels: int) -> None:
    """A filter that the engine's log couldn't be read with again never gets there."""
    status, answer = ask(port, "POST", "/collections/c/points/delete", {"filter": nested(levels, wrap)})
    assert status == 400
    assert "nest" in answer["status"]["error"]


@pytest.mark.parametrize("levels", [9, 100, 200])
def test_deep_prefetches_are_refused(port: int, levels: int) -> None:
    """Prefetches within prefetches end before the engine's stack does."""
    status, _ = ask(port, "POST", "/collections/c/points/query", nested(levels, "prefetch"))
    assert status == 400


def test_deep_formulas_are_refused(port: int) -> None:
    """Expressions within expressions end before the engine's stack does."""
    formula: object = 1.0
    for _ in range(200):
        formula = {"neg": formula}
    status, answer = ask(
        port, "POST", "/collections/c/points/query", {"prefetch": {"query": 1}, "query": {"formula": formula}}
    )
    assert status in (400, 404)
    assert answer["status"]["error"]


@pytest.mark.parametrize("levels", [65, 200, 900])
def test_deep_payloads_are_refused(port: int, levels: int) -> None:
    """A payload that the engine could write but never read again isn't written."""
    payload: dict[str, Any] = {"x": 1}
    for _ in range(levels - 1):
        payload = {"a": payload}
    for method, path, body in (
        ("PUT", "/points", {"points": [{"id": 5, "vector": [1.0, 1.0], "payload": payload}]}),
        ("POST", "/points/payload", {"points": [1], "payload": payload}),
    ):
        status, answer = ask(port, method, "/collections/c" + path, body)
        assert status == 400
        assert answer["status"]["error"]


def test_long_payload_paths_are_refused(port: int) -> None:
    """A path can't make up for the levels that a payload may not have."""
    body = {"points": [1], "payload": {"x": 1}, "key": ".".join("a" * 200)}
    assert ask(port, "POST", "/collections/c/points/payload", body)[0] == 400


def test_deepest_allowed_input_can_be_opened_again(tmp_path: Path) -> None:
    """Filters and payloads at their limits survive a kill: the log is read and the points are there."""
    payload: dict[str, Any] = {"x": 1}
    for _ in range(63):
        payload = {"a": payload}
    with serving(tmp_path) as port:
        ask(port, "PUT", "/collections/d", {"vectors": {"size": 2, "distance": "Dot"}})
        ask(port, "PUT", "/collections/d/points", {"points": [WITNESS | {"payload": payload}]})
        below = {"points": [1], "payload": payload, "key": ".".join("b" * 16)}
        assert ask(port, "POST", "/collections/d/points/payload", below)[0] == 200
        for wrap, levels in (("must", 11), ("nested", 5)):
            assert ask(port, "POST", "/collections/d/points/delete", {"filter": nested(levels, wrap)})[0] == 200
            assert ask(port, "POST", "/collections/d/points/delete", {"filter": nested(levels + 1, wrap)})[0] == 400
        before = ask(port, "POST", "/collections/d/points/scroll", {})[1]["result"]["points"]
    with serving(tmp_path) as port:
        assert ask(port, "POST", "/collections/d/points/scroll", {})[1]["result"]["points"] == before
    assert len(json.dumps(before)) > 700


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/collections/c/snapshots"),
        ("GET", "/snapshots"),
        ("PUT", "/collections/c/snapshots/recover"),
        ("POST", "/collections/aliases"),
        ("GET", "/cluster"),
        ("GET", "/metrics"),
        ("GET", "/telemetry"),
        ("PUT", "/collections/c/shards"),
        ("POST", "/collections/c/points/search"),
        ("POST", "/collections/c/points/search/matrix/pairs"),
        ("POST", "/collections/c/points/recommend"),
        ("GET", "/collections/c/optimizations"),
    ],
)
def test_what_is_not_served_says_so(port: int, method: str, path: str) -> None:
    """What Qdrant has and the sidecar hasn't is answered 501, by name."""
    status, answer = ask(port, method, path, {})
    assert status == 501
    assert answer["status"]["error"].startswith("Not served by the qdrant-edge REST shim: ")


@pytest.mark.parametrize(
    "body",
    [
        {"vectors": {"size": 2, "distance": "Dot"}, "quantization_config": {"scalar": {"type": "int8"}}},
        {"vectors": {"size": 2, "distance": "Dot", "datatype": "float16"}},
        {"vectors": {"size": 2, "distance": "Dot"}, "sharding_method": "custom"},
        {"vectors": {"size": 2, "distance": "Dot"}, "strict_mode_config": {"enabled": True}},
        {"vectors": {"size": 0, "distance": "Dot"}},
        {"vectors": {"size": 65537, "distance": "Dot"}},
        {"vectors": {"size": 2, "distance": "Hamming"}},
        {"vectors": {}},
        {},
    ],
)
def test_collections_that_would_not_be_honoured_are_refused(port: int, body: object) -> None:
    """A setting that would change results and isn't implemented is no silent no-op."""
    assert ask(port, "PUT", "/collections/refused", body)[0] in (400, 422, 501)


@pytest.mark.parametrize(
    ("method", "path"), [("DELETE", "/"), ("PATCH", "/collections"), ("GET", "/nobody"), ("GET", "//")]
)
def test_unknown_endpoints_are_refused(port: int, method: str, path: str) -> None:
    """What nobody has is 404 or 405."""
    assert ask(port, method, path)[0] in (404, 405)
