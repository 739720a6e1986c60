"""Reads of segments in the object store by callers that do not wait, and by those that come again."""

from __future__ import annotations

import pytest

from tests.wal.remote.copies import Node
from tests.wal.test_tiering import LARGE, filled, reopened
from wal.errors import IndexNotLoaded, RemoteReadError, RemoteWaits
from wal.memory_objects import ObjectFault
from wal.remote_reads import RemoteNotLoaded


def cold_node() -> Node:
    """Return a node whose oldest records are in the store only, and in no memory."""
    node, _ = filled()
    node.tier()
    return reopened(node)


def missed(node: Node, offset: int = 0) -> RemoteNotLoaded:
    """Return what a read tells that must not wait."""
    while True:
        with pytest.raises(IndexNotLoaded) as caught:
            node.log.read(7, offset, 1 << 20, may_wait=False)
        cold = caught.value
        if isinstance(cold, RemoteNotLoaded):
            return cold
        cold.load()
        cold.adopt()


def waited_for(cold: RemoteNotLoaded) -> bool:
    """Wait for the blocks, as a reader does, and return whether it can go on."""
    assert cold.offload is not None
    ended: list[Exception | None] = []
    cold.offload(cold.load, ended.append)
    assert ended == [None]
    return cold.adopt()


def test_a_read_that_must_not_wait_tells_how_to_load_what_it_needs() -> None:
    node = cold_node()
    assert waited_for(missed(node))
    assert node.log.read(7, 0, 1 << 20, may_wait=False).size_bytes > len(LARGE)


def test_an_error_of_the_store_is_told_to_the_reader_that_waited() -> None:
    node = cold_node()
    node.objects.hook = lambda _: ObjectFault.AWAY
    cold = missed(node)
    with pytest.raises(RemoteReadError, match="no answer"):
        waited_for(cold)


def test_a_read_that_comes_again_finds_what_was_fetched_meanwhile() -> None:
    node = cold_node()
    with pytest.raises(RemoteWaits, match="ask again"):
        node.log.read(7, 0, 1 << 20)
    assert node.log.read(7, 0, 1 << 20).size_bytes > len(LARGE)


def test_a_read_gives_what_is_in_memory_before_what_is_not() -> None:
    node = cold_node()
    local = node.log.local_start(7)
    segments = sorted(node.log.view().remote)
    first_of_last = local - next(
        count for count in range(1, local) if node.log.end_in(7, segments[:-1]) == local - count
    )
    cold = missed(node, first_of_last - 1)
    assert waited_for(cold)
    found = node.log.read(7, first_of_last - 1, 1 << 20, may_wait=False)
    assert found.next_offset == first_of_last


def test_a_lookup_by_time_reads_the_store_too() -> None:
    node = cold_node()
    with pytest.raises(RemoteWaits):
        node.log.find_timestamp(7, 1_000, from_offset=0)
    hit = node.log.find_timestamp(7, 1_000, from_offset=0)
    assert hit is not None
    assert hit.base_offset == 0
