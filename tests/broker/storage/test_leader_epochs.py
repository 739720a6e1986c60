"""A client's leader epoch is compared with the node's; an epoch of records ends where the next began."""

from __future__ import annotations

from typing import Any

import pytest

from broker.errors import RequestError
from broker.storage.leader_epochs import NO_EPOCH, check_leader_epoch, end_of_epoch, epoch_of
from protocol.error_codes import ErrorCode
from wal.stream import Stream


class Epochs:
    """A partition with these epochs and 100 records."""

    counted_end = 100

    def __init__(self, *epochs: tuple[int, int], own: tuple[int, int] | None = None) -> None:
        self.least_epoch = -1 if own is None else own[0]
        self._own = own
        self._stream = Stream(1, 100)
        for epoch in epochs:
            self._stream.begin_epoch(*epoch)
        self.epoch_up_to, self.epoch_at = self._stream.epoch_up_to, self._stream.epoch_at

    def leader_epoch(self, server_epoch: int) -> int:
        return server_epoch if self._own is None else max(server_epoch, self._own[1])

    def oldest_epoch(self, server_epoch: int) -> int:
        return server_epoch if self._own is None else max(server_epoch, self._own[0])


ORDINARY: Any = Epochs()


@pytest.mark.parametrize("epoch", [NO_EPOCH, 3])
def test_clients_that_know_the_epoch_or_none_are_served(epoch: int) -> None:
    check_leader_epoch(ORDINARY, epoch, 3)


def test_a_partition_with_ledgers_serves_the_epochs_since_the_start() -> None:
    partition: Any = Epochs(own=(5, 8))
    for epoch in (NO_EPOCH, 5, 6, 8):
        check_leader_epoch(partition, epoch, 3)
    for epoch, code in (
        (3, ErrorCode.FENCED_LEADER_EPOCH),
        (4, ErrorCode.FENCED_LEADER_EPOCH),
        (9, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ):
        with pytest.raises(RequestError) as refused:
            check_leader_epoch(partition, epoch, 3)
        assert refused.value.code == code


@pytest.mark.parametrize(
    ("epoch", "code"),
    [
        (4, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (2, ErrorCode.FENCED_LEADER_EPOCH),
        (-2, ErrorCode.FENCED_LEADER_EPOCH),
    ],
)
def test_any_other_epoch_is_refused(epoch: int, code: ErrorCode) -> None:
    with pytest.raises(RequestError) as refused:
        check_leader_epoch(ORDINARY, epoch, 3)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("epoch", "found"),
    [(0, (0, 40)), (1, (0, 40)), (2, (2, 70)), (3, (3, 100)), (4, (3, 100)), (5, (5, 100)), (6, (-1, -1)),
     (-1, (-1, -1))],
)  # fmt: skip
def test_an_epoch_ends_where_the_next_one_began(epoch: int, found: tuple[int, int]) -> None:
    partition: Any = Epochs((2, 40), (3, 70))
    assert end_of_epoch(partition, epoch, 5) == found


def test_a_record_has_the_epoch_in_which_it_was_written_and_the_next_one_the_nodes() -> None:
    partition: Any = Epochs((2, 40), (3, 70))
    assert [epoch_of(partition, offset, 5) for offset in (0, 39, 40, 99, 100)] == [0, 0, 2, 3, 5]
