"""The process that runs the brokers: its protocol of lines, and its end."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
from trio.testing import memory_stream_pair

from broker.server.testing.host import PROTOCOL, converse, open_parent
from tests.broker.server.testing.world import World


class Test:
    """The side of the conversation that a test run has."""

    __test__ = False

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream
        self._received = bytearray()

    async def send(self, **command: object) -> None:
        await self._stream.send_all(json.dumps(command).encode() + b"\n")

    async def receive(self) -> Any:
        while b"\n" not in self._received:
            self._received += await self._stream.receive_some(1_000)
        line, _, rest = self._received.partition(b"\n")
        self._received = bytearray(rest)
        return json.loads(line)

    async def ask(self, **command: object) -> Any:
        await self.send(id=1, **command)
        return await self.receive()


def run(steps: Callable[[Test], Awaitable[None]]) -> None:
    async def main() -> None:
        ours, theirs = memory_stream_pair()
        with trio.fail_after(30):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(converse, theirs, theirs)
                await steps(Test(ours))
                await ours.send_eof()

    trio.run(main)


def test_it_says_that_it_is_ready_and_ends_with_its_input(world: World) -> None:
    async def steps(test: Test) -> None:
        hello = await test.receive()
        assert hello["ready"] == PROTOCOL
        assert hello["pid"] > 0

    run(steps)


def test_brokers_are_opened_asked_and_closed(world: World) -> None:
    async def steps(test: Test) -> None:
        await test.receive()
        opened = await test.ask(do="open", settings={"num.partitions": 3})
        assert opened == {"id": 1, "result": {"broker": "broker-1", "port": 4_001}}
        assert (await test.ask(do="topics", broker="broker-1"))["result"] == {}
        assert (await test.ask(do="open", settings={}))["result"]["broker"] == "broker-2"
        assert (await test.ask(do="close", broker="broker-1")) == {"id": 1, "result": None}
        assert (await test.ask(do="topics", broker="broker-1"))["error"] == "broker-1 is closed"
        assert list(world.listening) == [4_002]

    run(steps)


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ({"do": "open", "settings": {"num.partition": 1}}, "did you mean 'num.partitions'"),
        ({"do": "stop", "broker": "broker-1"}, "broker-1 is closed"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(world: World, command: dict[str, object], sentence: str) -> None:
    async def steps(test: Test) -> None:
        await test.receive()
        assert sentence in (await test.ask(**command))["error"]

    run(steps)


def test_where_no_process_can_be_watched_standard_input_must_do(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_: int) -> int:
        raise OSError(38, "function not implemented")

    descriptor = open_parent()
    assert descriptor is not None
    os.close(descriptor)
    monkeypatch.setattr(os, "pidfd_open", refuse)
    assert open_parent() is None
    assert "only standard input: function not implemented" in caplog.text


def test_commands_do_not_wait_for_each_other(world: World) -> None:
    """A produce on a paused broker hangs; the command that resumes it must get through."""

    async def steps(test: Test) -> None:
        await test.receive()
        await test.ask(do="open", settings={})
        await test.ask(do="pause", broker="broker-1")
        await test.send(id=7, do="topics", broker="broker-1")
        await test.send(id=8, do="resume", broker="broker-1")
        assert sorted([(await test.receive())["id"], (await test.receive())["id"]]) == [7, 8]

    run(steps)
