"""What comes on a connection is held, up to a limit, until somebody reads it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from gateway.inbox import Inbox


class Line(asyncio.Transport):
    """A connection that only remembers whether it is read from."""

    def __init__(self, *, secure: bool = False) -> None:
        super().__init__({"sslcontext": object()} if secure else {})
        self.reads = True

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True


def connected(line: Line, limit_bytes: int = 10) -> Inbox:
    inbox = Inbox(limit_bytes)
    inbox.connection_made(line)
    return inbox


def test_all_that_came_is_read_at_once() -> None:
    """Also what came before the connection broke off, which is told afterwards."""

    async def talk() -> None:
        inbox = connected(Line())
        for piece in (b"one ", b"two"):
            inbox.data_received(piece)
        inbox.connection_lost(ConnectionResetError("gone"))
        assert not inbox.is_empty
        assert await inbox.read() == b"one two"
        with pytest.raises(ConnectionResetError, match="gone"):
            await inbox.read()

    asyncio.run(talk())


def test_who_waits_is_told_of_data_and_of_the_end() -> None:
    """The end is no data, however often it is asked for."""

    async def talk() -> None:
        inbox = connected(Line())
        waiting = asyncio.create_task(inbox.read())
        await asyncio.sleep(0)
        inbox.data_received(b"now")
        assert await waiting == b"now"
        waiting = asyncio.create_task(inbox.read())
        await asyncio.sleep(0)
        assert inbox.eof_received() is True
        assert [await waiting, await inbox.read()] == [b"", b""]

    asyncio.run(talk())


def test_nothing_more_is_taken_than_the_limit() -> None:
    """The connection is read from again when all was read."""

    async def talk() -> None:
        line = Line()
        inbox = connected(line)
        inbox.data_received(b"x" * 10)
        assert line.reads
        inbox.data_received(b"x")
        assert not line.reads
        assert await inbox.read() == b"x" * 11
        assert line.reads

    asyncio.run(talk())


def test_the_end_is_told_once() -> None:
    """To whoever asked for it; a connection of TLS has no half that stays open."""
    ends: list[bool] = []
    inbox = connected(Line(secure=True))
    inbox.on_end = lambda: ends.append(inbox.ended)
    assert inbox.eof_received() is False
    inbox.connection_lost(None)
    assert ends == [True]


@pytest.mark.parametrize("lost", [False, True])
def test_a_writer_waits_until_the_connection_takes_more(*, lost: bool) -> None:
    """Or is lost."""

    async def talk() -> list[Any]:
        inbox = connected(Line())
        await inbox.drain()
        inbox.pause_writing()
        waiting = [asyncio.create_task(inbox.drain()) for _ in range(2)]
        await asyncio.sleep(0)
        assert not any(task.done() for task in waiting)
        if lost:
            inbox.connection_lost(None)
        else:
            inbox.resume_writing()
        return await asyncio.gather(*waiting, inbox.drain(), return_exceptions=True)

    expected = ConnectionResetError if lost else type(None)
    assert [type(found) for found in asyncio.run(talk())] == [expected] * 3
