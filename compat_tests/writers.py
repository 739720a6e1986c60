"""A producer that never stops by itself, and what was acknowledged to it."""

from __future__ import annotations

import threading
import time
from typing import Any

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer


class Writer:
    """A writer that produces 0, 1, 2, … in a thread, without end, and keeps what was acknowledged."""

    def __init__(self, broker: Broker, topic: str, **settings: Any) -> None:
        self.topic = topic
        self.acked: dict[int, int] = {}
        """Number -> offset, for every record whose ack came."""
        self.errors: list[Any] = []
        self._next = 0
        self._stop = threading.Event()
        self._producer = make_producer(broker, acks="all", **settings)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.finish()

    @property
    def sent(self) -> int:
        """The count of numbers handed to the producer."""
        return self._next

    def wait_for_acks(self, more: int) -> None:
        """Wait until this many further records are acknowledged."""
        goal, deadline = len(self.acked) + more, time.monotonic() + 90
        while len(self.acked) < goal:
            assert time.monotonic() < deadline, f"{len(self.acked)} of {goal} acks; errors {self.errors[:3]}"
            time.sleep(0.01)

    def finish(self) -> None:
        """Stop sending and wait until everything sent is acknowledged or has failed."""
        self._stop.set()
        self._thread.join(60)
        assert not self._thread.is_alive(), "the writer did not end"

    def _run(self) -> None:
        while not self._stop.is_set():
            number = self._next
            try:
                self._producer.produce(self.topic, b"%d" % number, partition=0, on_delivery=self._delivered)
            except BufferError:
                self._producer.poll(0.05)
                continue
            self._next += 1
            self._producer.poll(0.001 if number % 20 == 0 else 0)
        self._producer.flush(50)

    def _delivered(self, error: Any, message: Any) -> None:
        if error is None:
            self.acked[int(message.value())] = message.offset()
        else:
            self.errors.append(error)
