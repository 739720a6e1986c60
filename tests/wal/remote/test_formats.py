"""Objects are what was written, or an error that names them."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wal.remote.copies import Node
from tests.wal.remote.workers import workers_over
from wal.memory_objects import MemoryObjects
from wal.remote.formats import (
    FORMATS,
    Chunk,
    Cut,
    LogCut,
    Manifest,
    RemoteDamaged,
    RemoteObject,
    RemoteSegment,
    check_bytes,
    open_cut,
    open_manifest,
    seal,
)
from wal.remote.places import ALL, Share

U64 = st.integers(0, 2**64 - 1)
U32 = st.integers(0, 2**32 - 1)
I63 = st.integers(0, 2**63 - 1)
NAMES = st.text("abc/-0123456789", min_size=1, max_size=30)
OBJECTS = st.builds(RemoteObject, NAMES, I63, U32)
CHUNKS = st.builds(Chunk, NAMES, I63, I63, U32, I63, st.integers(0, 9))
SEGMENTS = st.builds(RemoteSegment, NAMES, I63, U64, I63, I63, U32, I63, U32)
LOGS = st.builds(
    LogCut,
    durable_sequence=I63,
    manifest=st.none() | OBJECTS,
    segments_missing=st.integers(0, 9),
    base_version=I63,
    salt=U64,
    chunks=st.lists(CHUNKS, max_size=3).map(tuple),
    checkpoint=st.none() | OBJECTS,
    snapshot=st.none() | OBJECTS,
)
CUTS = st.builds(
    Cut,
    store_format=st.just(3),
    cluster_id=NAMES,
    node_id=st.integers(0, 9),
    secret=NAMES,
    epoch=I63,
    incarnation=NAMES,
    number=I63,
    time_ms=I63,
    logs=st.dictionaries(NAMES, LOGS, max_size=3),
)


@given(CUTS)
def test_a_cut_comes_back_as_it_was(cut: Cut) -> None:
    assert open_cut(seal(cut), "k") == cut


@given(st.lists(SEGMENTS, max_size=5).map(tuple))
def test_a_manifest_comes_back_as_it_was(segments: tuple[RemoteSegment, ...]) -> None:
    manifest = Manifest(segments=segments)
    assert open_manifest(seal(manifest), "k") == manifest


def test_every_flipped_bit_of_a_manifest_is_found() -> None:
    data = seal(Manifest(segments=(RemoteSegment("seg/1", 1, 2, 3, 4, 5, 6, 7),)))
    for position in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[position // 8] ^= 1 << position % 8
        try:
            found = open_manifest(bytes(damaged), "s3://b/key")
        except RemoteDamaged as error:
            assert "s3://b/key" in str(error)  # noqa: PT017
        else:
            assert found == open_manifest(data, "k"), "only a change that means the same may pass"


def test_bytes_are_compared_by_size_and_checksum() -> None:
    check_bytes(b"123456789", "k", size_bytes=9, crc=0xE3069283)
    for data in (b"12345678", b"123456780"):
        with pytest.raises(RemoteDamaged, match=r"k: the object is damaged: it has \d bytes"):
            check_bytes(data, "k", size_bytes=9, crc=0xE3069283)


def cut_of(**values: object) -> Cut:
    from msgspec.structs import replace

    node = Node(MemoryObjects())
    node.round()
    assert node.uploader.cut is not None
    return replace(node.uploader.cut, **values)


def test_a_cut_of_a_later_format_is_refused_with_those_that_are_read() -> None:
    for number in FORMATS:
        open_cut(seal(cut_of(format=number)), "k")
    with pytest.raises(RemoteDamaged, match=r"k: .*\(format 4; this one reads 1, 2, 3\); use that version"):
        open_cut(seal(cut_of(format=4)), "k")


def test_a_cut_says_which_part_of_its_cluster_it_is() -> None:
    assert (cut_of().part, cut_of().share, cut_of().has_catalogue) == ((0, 1), ALL, True)
    node = cut_of(node=2, nodes=3)
    assert (node.part, node.share, node.has_catalogue) == ((2, 3), ALL, False)
    worker = cut_of(worker=1, workers=2)
    assert (worker.part, worker.share, worker.has_catalogue) == ((1, 2), Share(1, 2), False)


def test_a_cut_of_one_process_is_read_by_older_programs_and_says_nothing_of_workers_to_them() -> None:
    """A cut that was written before there was a number of workers is that of one."""
    data = seal(cut_of())
    assert open_cut(data, "k").workers == 1
    older = {key: value for key, value in msgspec.json.decode(data)["content"].items() if "worker" not in key}
    assert msgspec.json.decode(msgspec.json.encode(older), type=Cut).share == ALL


def test_only_a_cut_without_a_round_is_empty_of_one_that_leads_no_log() -> None:
    first, _, third = workers_over(MemoryObjects(), count=3, vnodes=2)
    for worker, then in ((first, False), (third, False)):
        worker.uploader.take_over(worker.views(), 0)
        assert worker.uploader.cut is not None
        assert worker.uploader.cut.is_empty
        worker.round()
        assert worker.uploader.cut.is_empty is then
