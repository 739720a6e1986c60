"""Lookups by time in views over many streams walk frames and batches a slice at a time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from broker.loop.slices import all_here, run_here
from broker.view_topics.rooms import LOOKUPS_MAX, FramesRoom
from protocol.compression import Codec
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import create, offset_of, send
from tests.broker.transactions import end, transactional
from tests.broker.views import PLACE, database, make_view
from tests.broker.wide_requests import EventLoop, Lines, Piece, Threads

RECORDS = 4_000

LINES_MAX = 15_000
"""The lines of a piece of work, about 1.5 ms; a batch of RECORDS that is rewritten in one go has 60,000."""


def long_batch(codec: int) -> bytes:
    """Return a batch of many records, the last of which is the newest."""
    records = [Record(number, START_MS + number, b"k", b'{"v":1}') for number in range(RECORDS)]
    return bytes(encode_batch(records, codec=codec))


def longest_piece(gateway: Gateway, name: str, timestamp: int) -> Piece:
    """Look a time up, and return the longest piece of work on the event loop; look once for imports."""
    lines, scheduler = Lines(), gateway.broker.scheduler
    ordinary = scheduler.offload
    for measure in (Lines(), lines):
        threads = Threads()
        scheduler.offload = threads.offload
        gateway.broker.stats.turns.clock_ns = measure.clock_ns
        client = gateway.client()
        client.connection.offload = threads.offload
        asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        topic = ListOffsetsTopic(name=name, partitions=[asked])
        EventLoop(client, threads, measure).serve(ListOffsetsRequest(replica_id=-1, topics=[topic]), 7)
    scheduler.offload = ordinary
    return lines.longest


def whole(client: Client) -> str:
    return "all"


def records_and_changes(client: Client) -> str:
    make_view(client, "with-meta", "STABLE b WITH META")
    return "with-meta"


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
@pytest.mark.parametrize("timestamp", [START_MS + RECORDS - 1, -3])
@pytest.mark.parametrize("view", [whole, records_and_changes])
def test_a_lookup_looks_into_batches_a_slice_at_a_time(
    view: Callable[[Client], str], timestamp: int, codec: int
) -> None:
    gateway, client = database()
    name = view(client)
    for _ in range(3):
        send(client, "b", long_batch(codec))
    assert longest_piece(gateway, name, timestamp).size < LINES_MAX
    found = offset_of(gateway.client(), name, timestamp)
    assert found.timestamp == START_MS + RECORDS - 1


def test_frames_whose_records_are_aborted_are_walked_a_slice_at_a_time() -> None:
    gateway, _ = database()
    for _ in range(60):
        transactional(gateway, b"x", 2, topic="b")
        end(gateway, 2, commit=False, topic="b")
    piece = longest_piece(gateway, "all", START_MS)
    assert piece.size < LINES_MAX, piece
    assert offset_of(gateway.client(), "all", START_MS).offset == -1


def test_the_newest_time_of_very_many_streams_is_found_a_slice_at_a_time() -> None:
    gateway, client = database()
    create(client, "wide", 3_000, **{PLACE: "d"})
    for index in range(3_000):
        send(client, "wide", encode_batch([Record(0, START_MS + index, None, b"v")]), index)
    piece = longest_piece(gateway, "all", -3)
    assert piece.size < LINES_MAX, piece
    assert offset_of(gateway.client(), "all", -3).timestamp == START_MS + 2_999


def test_few_lookups_hold_a_frame_at_once_and_the_others_take_turns() -> None:
    gateway, client = database()
    send(client, "b", long_batch(Codec.NONE))
    room = gateway.broker.views.shared(FramesRoom)
    partition = gateway.partition("all")
    lookups = [
        partition.time_steps(START_MS + RECORDS - 1, from_offset=0, offload=run_here)
        for _ in range(LOOKUPS_MAX + 1)
    ]
    for lookup in lookups[:LOOKUPS_MAX]:
        while next(lookup) is None and room.inside < LOOKUPS_MAX:
            if lookup is lookups[0] and room.inside:
                break
    assert room.inside == LOOKUPS_MAX
    while (waits := next(lookups[-1])) is None:
        continue
    resumed: list[str] = []
    waits.start(lambda: resumed.append("its turn"))
    assert resumed == []
    lookups[0].close()
    assert resumed == ["its turn"]
    hit = all_here(lookups[-1])
    assert hit is not None
    assert hit.max_timestamp == START_MS + RECORDS - 1
    assert all_here(lookups[1]) == hit
    assert room.inside == 0
