"""Pieces of partitions: from memory, from files, and of views."""

from __future__ import annotations

import pytest

from broker.fetching.pieces import Piece, read_piece
from broker.loop.slices import run_here
from broker.view_topics.view_partition import ViewRead
from protocol.records import iter_batches, read_batch_header
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, send


def piece_of(gateway: Gateway, name: str, offset: int, max_bytes: int, end: int) -> Piece:
    steps = read_piece(gateway.partition(name), ViewRead(offset, max_bytes), end, run_here)
    try:
        while True:
            waits = next(steps)
            if waits is not None:
                waits.start(lambda: None)
    except StopIteration as found:
        piece: Piece = found.value
        return piece


@pytest.mark.parametrize("tail_bytes", [0, 1 << 20])
@pytest.mark.parametrize("name", ["jobs", "v"])
def test_a_piece_has_whole_batches_and_says_where_it_ends(name: str, tail_bytes: int) -> None:
    gateway = Gateway(kawal_vnodes=1)
    create(gateway.client(), "jobs")
    create(gateway.client(), "v", kawal_sql="SELECT * FROM jobs")
    for number in range(3):
        send(gateway.client(), "jobs", batch(b"%d" % number * 1_000))
    if not tail_bytes:
        gateway.restart()
    piece = piece_of(gateway, name, 1, 1_500, 3)
    assert (piece.first, piece.end) == (1, 2)
    offsets = [read_batch_header(found).base_offset for found in iter_batches(piece.data)]
    assert offsets == [1]
    assert piece_of(gateway, name, 0, 1 << 20, 3).end == 3
