"""Reading as a member of a consumer group, for `kawal consume --group`: what is printed is committed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from console.reader import POLL_MS
from protocol.record_reader import Record


class GroupReader:
    """A loop that prints what the group's member is given, and commits it once it has been written.

    Without `follow` it is done when it has read, of each partition that it holds, what was there when it got
    it.
    """

    def __init__(
        self,
        consumer: Any,
        *,
        follow: bool,
        records_left: int | None,
        write: Callable[[Any, list[Record]], object],
        flush: Callable[[], object],
        output_closed: Callable[[], bool],
    ) -> None:
        """Take a consumer that has subscribed to its topic."""
        self._consumer = consumer
        self._follow = follow
        self._left = records_left
        self._write = write
        self._flush = flush
        self._output_closed = output_closed
        self._ends: dict[Any, int] = {}

    def run(self) -> None:
        """Read until done.  Raises: KafkaError; BrokenPipeError when the output is no longer read."""
        while self._left != 0:
            polled = self._consumer.poll(timeout_ms=POLL_MS, max_records=self._left)
            if polled:
                self._print(polled)
            elif self._output_closed():
                raise BrokenPipeError
            if not self._follow and self._is_at_end():
                return

    def _print(self, polled: dict[Any, list[Any]]) -> None:
        from kafka.structs import OffsetAndMetadata

        for partition, consumed in polled.items():
            records = [
                Record(record.offset, record.timestamp, record.key, record.value, tuple(record.headers))
                for record in consumed
            ]
            self._write(partition, records)
            if self._left is not None:
                self._left -= len(records)
        self._flush()
        self._consumer.commit(
            {
                partition: OffsetAndMetadata(consumed[-1].offset + 1, "", -1)
                for partition, consumed in polled.items()
            }
        )

    def _is_at_end(self) -> bool:
        held = self._consumer.assignment()
        new = [partition for partition in held if partition not in self._ends]
        if new:
            self._ends.update(self._consumer.end_offsets(new))
        return bool(held) and all(
            self._consumer.position(partition) >= self._ends[partition] for partition in held
        )
