"""Whatever happens to a request, there is an answer in Qdrant's shape."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from sidecar import routes
from sidecar.http1 import Request
from sidecar.refusal import Refused
from sidecar.server import respond
from sidecar.store import Store, check_name, remove_tree

if TYPE_CHECKING:
    from pathlib import Path


class Panic(BaseException):
    """As the engine's panics: no Exception."""


class BrokenStore(Store):
    """A store whose list of collections fails."""

    def __init__(self, error: BaseException) -> None:
        """Hold the error."""
        super().__init__("/nonexistent")
        self._error = error

    def names(self) -> list[str]:
        """Fail."""
        raise self._error


def get(path: str, store: Store) -> tuple[int, str]:
    answer = respond(Request("GET", path, b"", keep_alive=True), store)
    return answer.status, answer.body.decode()


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (Panic("index out of bounds"), 500, "Service internal error: Panic: index out of bounds"),
        (MemoryError(), 500, "Service internal error: MemoryError: "),
        (RuntimeError("x\ud800"), 500, "Service internal error: RuntimeError: x?"),
        (Refused(409, "no"), 409, "no"),
    ],
)
def test_failure_is_an_answer(error: BaseException, status: int, message: str) -> None:
    """A panic of the engine doesn't end the thread, let alone the process."""
    got, body = get("/collections", BrokenStore(error))
    answer = json.loads(body)
    assert (got, answer["status"], set(answer)) == (status, {"error": message}, {"status", "time"})


def test_result_is_wrapped() -> None:
    """An answer has a result, a status and a time; the root is bare."""
    store = Store("/nonexistent")
    status, body = get("/collections", store)
    assert (status, json.loads(body)["result"], json.loads(body)["status"]) == (200, {"collections": []}, "ok")
    assert json.loads(get("/", store)[1]) == {"title": routes.TITLE, "version": routes.VERSION}


@pytest.mark.parametrize("name", ["memory", "a.b", "with space", "ž", "x" * 255, "-", "index.json"])
def test_names_that_a_collection_may_have(name: str) -> None:
    """Text that is no path is a name."""
    check_name(name)
    assert "/" not in name


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".x", "a/b", "a\\b", "a\0b", "a\nb", "a:b", "a|b", "x" * 256, "ž" * 128]
)
def test_names_that_no_collection_has(name: str) -> None:
    """A path, a control character or a name too long for a directory is refused."""
    with pytest.raises(Refused) as caught:
        check_name(name)
    assert caught.value.status == 422


def test_removal_follows_no_link(tmp_path: Path) -> None:
    """A removed tree takes nothing with it that was only linked."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    (tmp_path / "tree" / "inner").mkdir(parents=True)
    (tmp_path / "tree" / "inner" / "link").symlink_to(tmp_path / "kept")
    (tmp_path / "tree" / "file").symlink_to(tmp_path / "kept" / "file")
    remove_tree(str(tmp_path / "tree"))
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "kept"]
