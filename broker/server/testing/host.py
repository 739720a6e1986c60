"""The process that runs the brokers of one test run: `kawal testing-host`.

    <- {"ready": 1, "version": "0.1.0", "pid": 4711}          once, when it answers
    -> {"id": 7, "do": "open", "settings": {"num.partitions": 3}}
    <- {"id": 7, "result": {"broker": "broker-1", "port": 40123}}
    -> {"id": 8, "do": "kill", "broker": "broker-1", "power_cut": false}
    <- {"id": 8, "error": "broker broker-1 is stopped; start it first"}

One JSON object a line: commands on standard input, answers on standard output in the order in which they are
ready.  `open` and `close` are the host's own commands; all others go to a broker (commands.py).  The process
ends with its standard input, or with the process that started it, however that ends.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import signal
from importlib import metadata
from typing import Any, Final

import trio

from broker.config.config_keys import ConfigProblem
from broker.server.testing import lines
from broker.server.testing.client import NoAnswer
from broker.server.testing.commands import OPERATIONS, Refused
from broker.server.testing.ram import NotRunning, RamBroker
from wal.disk_errors import DiskError
from wal.errors import StoreError

logger = logging.getLogger("kawal.testing")

PROTOCOL: Final = 1
"""The version of this protocol; the plugin refuses to talk to another."""

LINE_BYTES_MAX: Final = 64 << 20

EXPECTED: Final = (ConfigProblem, Refused, NoAnswer, NotRunning, DiskError, StoreError, OSError)
"""Errors that the test gets as a sentence; any other is a bug and ends the host."""


class Host:
    """The brokers by name, and the commands for them."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.brokers: dict[str, RamBroker] = {}
        self._nursery = nursery
        self._opened = 0

    async def answer(self, command: dict[str, Any]) -> dict[str, Any]:
        """Carry out a command and return its answer."""
        try:
            return {"id": command["id"], "result": await self._do(command)}
        except EXPECTED as error:
            return {"id": command["id"], "error": str(error)}

    async def _do(self, command: dict[str, Any]) -> Any:
        if command["do"] == "open":
            return await self._open(command["settings"])
        broker = self.brokers.get(command["broker"])
        if broker is None:
            raise Refused(f"{command['broker']} is closed")
        if command["do"] == "close":
            del self.brokers[broker.name]
            return await broker.close()
        return await OPERATIONS[command["do"]](broker, command)

    async def _open(self, settings: dict[str, Any]) -> dict[str, Any]:
        self._opened += 1
        broker = RamBroker(f"broker-{self._opened}", settings, self._nursery.start_soon)
        try:
            await broker.start()
        except BaseException:
            with trio.CancelScope(shield=True):
                await broker.close()
            raise
        self.brokers[broker.name] = broker
        return {"broker": broker.name, "port": broker.port}


async def converse(commands: trio.abc.ReceiveStream, answers: trio.abc.SendStream) -> None:
    """Answer commands until their stream ends."""
    writing = trio.Lock()

    async def send(message: dict[str, Any]) -> None:
        async with writing:
            await answers.send_all(json.dumps(message).encode() + b"\n")

    async with trio.open_nursery() as nursery:
        host = Host(nursery)

        async def serve(line: bytes) -> None:
            await send(await host.answer(json.loads(line)))

        await send({"ready": PROTOCOL, "version": _version(), "pid": os.getpid()})
        pending = bytearray()
        async for part in commands:
            pending += part
            assert len(pending) <= LINE_BYTES_MAX, "a command is too long"
            *whole, rest = pending.split(b"\n")
            pending = bytearray(rest)
            for line in whole:
                nursery.start_soon(serve, bytes(line))
        nursery.cancel_scope.cancel()


def _version() -> str:
    try:
        return metadata.version("kawal")
    except metadata.PackageNotFoundError:
        return "unknown"


async def _watch_parent(parent: int, scope: trio.CancelScope) -> None:
    """End with the process that started this one; a fork of it may keep our standard input open."""
    await trio.lowlevel.wait_readable(parent)
    scope.cancel()


def open_parent() -> int | None:
    """Return a descriptor that is readable once the parent has ended; None where the kernel has none."""
    try:
        return os.pidfd_open(os.getppid())
    except OSError as error:
        logger.warning("cannot watch the parent process, only standard input: %s", error.strerror)
        return None


async def _run(parent: int | None) -> None:
    # Copies: output printed by a library must not get between the answers.
    commands = trio.lowlevel.FdStream(os.dup(0))
    answers = trio.lowlevel.FdStream(os.dup(1))
    os.dup2(2, 1)
    async with trio.open_nursery() as nursery:
        if parent is not None:
            nursery.start_soon(_watch_parent, parent, nursery.cancel_scope)
        try:
            await converse(commands, answers)
        except trio.BrokenResourceError as error:
            logger.warning("the answers are no longer read: %s", error)
        nursery.cancel_scope.cancel()


def main() -> int:
    """Serve commands until standard input, or the parent process, ends."""
    lines.set_up()
    parent = open_parent()
    # Ctrl-C is for the test run, which then ends this process cleanly.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    trio.run(_run, parent)
    return 0
