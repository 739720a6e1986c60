"""Objects are what was written, or an error that names them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wal.remote.formats import (
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


def test_a_cut_of_another_format_is_not_guessed_at() -> None:
    cut = Cut(
        format=3, store_format=3, cluster_id="c", node_id=1, secret="", epoch=1, incarnation="", number=0,
        time_ms=0, logs={},
    )  # fmt: skip
    with pytest.raises(RemoteDamaged, match=r"another version of kawal \(format 3"):
        open_cut(seal(cut), "k")


def test_bytes_are_compared_by_size_and_checksum() -> None:
    check_bytes(b"123456789", "k", size_bytes=9, crc=0xE3069283)
    for data in (b"12345678", b"123456780"):
        with pytest.raises(RemoteDamaged, match=r"k: the object is damaged: it has \d bytes"):
            check_bytes(data, "k", size_bytes=9, crc=0xE3069283)
