"""The ends of the console's process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from broker.server.http_conversation import HttpRequest, Page
from console.web import process
from console.web.process import Server, go_before_the_log

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


class FakeSite:
    def body_bytes_max(self, _: str) -> int:
        return 0

    def is_long(self, _: HttpRequest) -> bool:
        return False

    def refusal(self, status: int, sentence: str) -> Page:
        return Page(sentence.encode(), status)

    async def answer(self, request: HttpRequest, host: str) -> Page:
        await trio.lowlevel.checkpoint()
        if request.path == "/broken":
            raise ZeroDivisionError("on purpose")
        return Page(b"here")


class Quiet(trio.abc.Listener[Any]):
    """A listener to which no one comes."""

    async def accept(self) -> Any:
        await trio.sleep_forever()

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()


def site() -> Any:
    return FakeSite()


def test_it_ends_when_idle_and_not_while_someone_is_there() -> None:
    async def main() -> None:
        server = Server(site(), idle_seconds=900)
        async with trio.open_nursery() as nursery:
            ours, theirs = trio.testing.memory_stream_pair()
            nursery.start_soon(server.run, Quiet())
            nursery.start_soon(server.admit, theirs)
            for _ in range(100):
                await ours.send_all(REQUEST)
                assert b"here" in await ours.receive_some()
                await trio.sleep(20)
            await ours.aclose()
            began = trio.current_time()
        assert trio.current_time() - began == pytest.approx(900, abs=2)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def test_it_ends_with_its_parent() -> None:
    async def main() -> None:
        ours, theirs = os.pipe()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(Server(site()).run, Quiet(), ours)
            await trio.testing.wait_all_tasks_blocked()
            os.write(theirs, b"more")
            await trio.testing.wait_all_tasks_blocked()
            os.close(theirs)
        os.close(ours)

    trio.run(main)


def test_an_error_of_ours_ends_one_connection(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        server = Server(site())
        ours, theirs = trio.testing.memory_stream_pair()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(server.admit, theirs)
            await ours.send_all(REQUEST.replace(b"/ ", b"/broken "))
            assert await ours.receive_some() == b""

    trio.run(main)
    assert "ZeroDivisionError: on purpose" in caplog.text


def test_the_connection_that_is_there_longest_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "CONNECTIONS_MAX", 1)

    async def main() -> None:
        server = Server(site())
        async with trio.open_nursery() as nursery:
            first, theirs = trio.testing.memory_stream_pair()
            nursery.start_soon(server.admit, theirs)
            await trio.testing.wait_all_tasks_blocked()
            second, theirs = trio.testing.memory_stream_pair()
            nursery.start_soon(server.admit, theirs)
            assert await first.receive_some() == b""
            await second.send_all(REQUEST)
            assert b"here" in await second.receive_some()
            nursery.cancel_scope.cancel()

    trio.run(main)


def test_it_goes_before_the_log_when_memory_is_short(tmp_path: Path) -> None:
    score = tmp_path / "oom_score_adj"
    go_before_the_log(score)
    assert score.read_text() == "500"
    go_before_the_log(tmp_path / "missing" / "oom_score_adj")
