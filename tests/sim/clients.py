"""A client's connection in the simulation: bytes go out and come in when the driver says so, or are lost."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from typing import Any

from broker.loop.stats import Cause
from tests.broker.gateway import answer_type, decode_answer, request_frame, take_outgoing
from tests.sim.world import World

Done = Callable[[Any], None]
"""Called with the decoded answer, or with None when the connection ended first."""


class Link:
    """One connection: `send` queues, `push` lets bytes reach the broker, `pull` lets answers come back."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.connection = world.broker.connect(
            peer="10.0.0.9:5000", advertised=("gateway", 9092), now_ms=world.now_ms
        )
        self.outbox = bytearray()
        self._inbox = bytearray()
        self._waiting: deque[tuple[type[Any], int, int, Done]] = deque()
        self._correlation_id = 0
        self.is_open = True
        world.links.append(self)

    def __len__(self) -> int:
        return len(self._waiting)

    def send(self, request: Any, version: int, done: Done | None) -> None:
        """Queue a request; `done` is None for a produce with acks=0, which has no answer."""
        self._correlation_id += 1
        if done is not None:
            self._waiting.append((answer_type(request), version, self._correlation_id, done))
        self.outbox += request_frame(request, version, self._correlation_id)

    def push(self, size_bytes: int) -> None:
        """Let some of what was queued arrive."""
        connection, broker = self.connection, self._world.broker
        while size_bytes and self.outbox and self.is_open:
            if connection.saturated or connection.close_reason is not None:
                return
            buffer = connection.reader.wanted_buffer()
            count = min(len(buffer), len(self.outbox), size_bytes)
            buffer[:count] = self.outbox[:count]
            del self.outbox[:count]
            size_bytes -= count
            broker.intake.receive(connection, count, self._world.now_ms)

    def pull(self) -> None:
        """Take the answers that the broker has given so far."""
        if not self.is_open:
            return
        self._inbox += take_outgoing(self.connection)
        while len(self._inbox) >= 4:
            (size,) = struct.unpack_from(">i", self._inbox)
            if len(self._inbox) < 4 + size:
                break
            frame = bytes(self._inbox[4 : 4 + size])
            del self._inbox[: 4 + size]
            cls, version, correlation_id, done = self._waiting.popleft()
            done(decode_answer(cls, version, correlation_id, frame))
        if self.connection.close_reason is not None:
            # Clients of the simulation send nothing wrong, but they may be slow.
            cause = self.connection.close_cause
            assert cause not in (Cause.BUG, Cause.PROTOCOL), self.connection.close_reason
            self.close()
        elif self.connection.stalled and not self.connection.saturated:
            self._world.broker.intake.resume(self.connection, self._world.now_ms)

    def close(self) -> None:
        """Hang up: what was not answered yet never will be."""
        if self.is_open:
            self._world.broker.disconnect(self.connection)
            self._world.links.remove(self)
            self.lost()

    def lost(self) -> None:
        """End the connection: the other side has ended."""
        self.is_open = False
        self.outbox.clear()
        waiting, self._waiting = self._waiting, deque()
        for _, _, _, done in waiting:
            done(None)
