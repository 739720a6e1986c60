"""The loop of consume: its output, its end, and its report when nothing comes."""

import os
from collections.abc import Callable
from typing import NamedTuple

import pytest

from console import reader as reader_module
from console.client import Trouble
from console.errors import CommandError
from console.reader import QUIET_POLLS_MAX, Reader, pipe_is_closed


class Partition(NamedTuple):
    partition: int


class Record(NamedTuple):
    offset: int


ZERO, ONE = Partition(0), Partition(1)


class Consumer:
    """A consumer of prepared batches; positions follow the batches, or `skip` beyond them."""

    def __init__(
        self, *batches: dict[Partition, list[int]], skip: dict[Partition, int] | None = None
    ) -> None:
        self._batches = list(batches)
        self._positions: dict[Partition, int] = {}
        self._skip = skip or {}
        self.paused: list[Partition] = []
        self.polls = 0

    def poll(self, timeout_ms: int) -> dict[Partition, list[Record]]:
        self.polls += 1
        batch = self._batches.pop(0) if self._batches else {}
        self._positions.update({partition: offsets[-1] + 1 for partition, offsets in batch.items()})
        if not batch:
            self._positions.update(self._skip)
        return {partition: [Record(offset) for offset in offsets] for partition, offsets in batch.items()}

    def position(self, partition: Partition) -> int:
        return self._positions.get(partition, 0)

    def pause(self, partition: Partition) -> None:
        self.paused.append(partition)


def read(
    consumer: Consumer,
    bounds: dict[Partition, int] | None,
    records_left: int | None = None,
    output_closed: Callable[[], bool] = lambda: False,
    trouble: Trouble | None = None,
) -> list[int]:
    written: list[int] = []
    reader = Reader(
        consumer,
        bounds=bounds,
        records_left=records_left,
        write=lambda _, records: written.extend(record.offset for record in records),
        flush=lambda: None,
        output_closed=output_closed,
        trouble=trouble or Trouble(),
        bootstrap="127.0.0.1:1",
    )
    reader.run()
    return written


def test_reading_ends_when_every_partition_is_at_its_bound() -> None:
    consumer = Consumer({ZERO: [0, 1]}, {ONE: [5]}, {ZERO: [2, 3, 4]})
    assert read(consumer, {ZERO: 4, ONE: 6}) == [0, 1, 5, 2, 3]
    assert consumer.paused == [ONE, ZERO]


def test_nothing_is_polled_when_there_is_nothing_to_read() -> None:
    consumer = Consumer()
    assert read(consumer, {}) == []
    assert consumer.polls == 0


def test_reading_ends_after_the_number_of_records_asked_for() -> None:
    assert read(Consumer({ZERO: [0, 1, 2]}, {ZERO: [3]}), None, records_left=2) == [0, 1]


def test_records_that_are_never_delivered_do_not_keep_it_waiting() -> None:
    # The last record before the bound is a transaction's marker: the position moves, no record comes.
    assert read(Consumer({ZERO: [0]}, {}, skip={ZERO: 2}), {ZERO: 2}) == [0]


def test_records_beyond_the_bound_of_a_finished_partition_are_not_written() -> None:
    assert read(Consumer({ZERO: [0, 1]}, {ZERO: [2], ONE: [0]}), {ZERO: 2, ONE: 1}) == [0, 1, 0]


def test_silence_with_records_unread_ends_with_a_sentence() -> None:
    consumer = Consumer()
    with pytest.raises(CommandError, match=r"sent nothing for 15 seconds .* 0 \(up to 4\)"):
        read(consumer, {ZERO: 4})
    assert consumer.polls == QUIET_POLLS_MAX + 1


def test_a_closed_output_ends_even_a_quiet_topic() -> None:
    with pytest.raises(BrokenPipeError):
        read(Consumer(), None, output_closed=lambda: True)


def test_a_lost_connection_ends_reading_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(bootstrap: str) -> None:
        raise CommandError(f"cannot reach {bootstrap}")

    monkeypatch.setattr(reader_module, "check_reachable", unreachable)
    trouble = Trouble()
    trouble.seen = True
    with pytest.raises(CommandError, match=r"cannot reach 127\.0\.0\.1:1"):
        read(Consumer(), {ZERO: 4}, trouble=trouble)


def test_a_lost_connection_is_told_once_while_following(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = iter([False, False, True, False])
    trouble = Trouble()
    trouble.seen = True

    def probe(bootstrap: str) -> None:
        trouble.seen = True
        if not next(answers):
            raise CommandError("gone")

    polls = iter([False] * 3 + [True])
    monkeypatch.setattr(reader_module, "check_reachable", probe)
    with pytest.raises(BrokenPipeError):
        read(Consumer(), None, output_closed=lambda: next(polls), trouble=trouble)
    assert capsys.readouterr().err == "kawal: lost the connection to 127.0.0.1:1; trying again\n"


def test_a_pipe_is_closed_when_its_reader_has_left() -> None:
    read_end, write_end = os.pipe()
    assert not pipe_is_closed(write_end)
    os.close(read_end)
    assert pipe_is_closed(write_end)
    os.close(write_end)
