"""The loop of `kawal consume`: poll, write, and know when to stop."""

from __future__ import annotations

import select
import sys
from collections.abc import Callable
from typing import Any

from console.client import Trouble, check_reachable
from console.errors import CommandError

POLL_MS = 1_000
QUIET_POLLS_MAX = 15
"""Polls in a row without a record, although some are known to be there, before reading is given up."""


class Reader:
    """A loop that polls a placed consumer and writes its records until it is done.

    It is done at a bound in each partition, after a number of records, or never.
    `bounds` holds the offset to stop before for each partition still to be read; None means no end.
    """

    def __init__(
        self,
        consumer: Any,
        *,
        bounds: dict[Any, int] | None,
        records_left: int | None,
        write: Callable[[Any, list[Any]], object],
        flush: Callable[[], object],
        output_closed: Callable[[], bool],
        trouble: Trouble,
        bootstrap: str,
    ) -> None:
        self._consumer = consumer
        self._bounds = bounds
        self._left = records_left
        self._write = write
        self._flush = flush
        self._output_closed = output_closed
        self._trouble = trouble
        self._bootstrap = bootstrap
        self._quiet_polls = 0
        self._told_of_trouble = False

    def run(self) -> None:
        """Read until done.

        Raises: CommandError when the broker is lost, or silent with records unread; BrokenPipeError when the
        output is no longer read.
        """
        while self._left != 0 and (self._bounds is None or self._bounds):
            batches = self._consumer.poll(timeout_ms=POLL_MS)
            if not batches:
                self._heard_nothing()
                continue
            self._quiet_polls = 0
            for partition, records in batches.items():
                self._print(partition, records)
            self._flush()
            self._drop_finished()

    def _print(self, partition: Any, records: list[Any]) -> None:
        # A paused partition may still deliver what was fetched before; its bound is then below everything.
        bound = None if self._bounds is None else self._bounds.get(partition, 0)
        if bound is not None and records and records[-1].offset >= bound:
            records = [record for record in records if record.offset < bound]
        if self._left is not None:
            records = records[: self._left]
            self._left -= len(records)
        if records:
            self._write(partition, records)

    def _drop_finished(self) -> None:
        """Stop reading partitions that have reached their bound, even by records that are never delivered."""
        if self._bounds is None:
            return
        for partition, bound in list(self._bounds.items()):
            if self._consumer.position(partition) >= bound:
                self._consumer.pause(partition)
                del self._bounds[partition]

    def _heard_nothing(self) -> None:
        self._quiet_polls += 1
        self._drop_finished()
        if self._output_closed():
            raise BrokenPipeError
        if self._trouble.take():
            self._look_at_connection()
        if self._bounds and self._quiet_polls > QUIET_POLLS_MAX:
            waiting = ", ".join(
                f"{partition.partition} (up to {bound})" for partition, bound in self._bounds.items()
            )
            raise CommandError(
                f"{self._bootstrap} sent nothing for {QUIET_POLLS_MAX * POLL_MS // 1000} seconds although "
                f"records are there; partitions not finished: {waiting}"
            )

    def _look_at_connection(self) -> None:
        """Raise; or, when following, say once that the connection was lost and go on trying."""
        try:
            check_reachable(self._bootstrap)
        except CommandError:
            if self._bounds is not None:
                raise
            if not self._told_of_trouble:
                print(f"kawal: lost the connection to {self._bootstrap}; trying again", file=sys.stderr)
            self._told_of_trouble = True
        else:
            self._told_of_trouble = False


def pipe_is_closed(descriptor: int) -> bool:
    """Return whether `descriptor` is a pipe or socket whose other end has been closed.

    Writing would show it too, but a quiet topic gives nothing to write: `kawal consume --follow | head -1`
    has to end without another record.
    """
    watch = select.poll()
    watch.register(descriptor, 0)
    return any(events & (select.POLLERR | select.POLLHUP) for _, events in watch.poll(0))
