"""Generated decoders: hostile input, limits, and the look of the code."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from protocol.compiled import compile_decoder
from protocol.decoder_source import DecoderSource
from protocol.errors import Malformed
from protocol.layout import layout
from protocol.messages.fetch import FetchRequest
from protocol.messages.join_group import JoinGroupRequest
from protocol.messages.metadata import MetadataRequest
from protocol.messages.produce import ProduceResponse
from protocol.schema import declaration
from tests.protocol.hostile import CASES, case_name


@pytest.mark.parametrize(("cls", "version", "data", "field", "position", "problem"), CASES, ids=case_name)
def test_lies_are_malformed(
    cls: type[Any], version: int, data: str, field: str, position: int, problem: str
) -> None:
    decode = compile_decoder(cls, version)
    with pytest.raises(Malformed) as caught:
        decode(bytes.fromhex(data), 0)
    found = caught.value
    assert (found.field, found.position, found.problem) == (f"{cls.__name__}.{field}", position, problem)


@pytest.mark.parametrize(("cls", "version", "data"), [case[:3] for case in CASES], ids=case_name)
def test_lies_cost_next_to_nothing(cls: type[Any], version: int, data: str) -> None:
    decode = compile_decoder(cls, version)
    raw = memoryview(bytes.fromhex(data))
    tracemalloc.start()
    try:
        with pytest.raises(Malformed):
            decode(raw, 0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20_000


def test_all_elements_of_a_message_share_one_limit() -> None:
    decode = compile_decoder(MetadataRequest, 1)
    limit = declaration(MetadataRequest).elements_max
    assert len(decode(limit.to_bytes(4, "big") + bytes(2) * limit, 0)[0].topics) == limit
    with pytest.raises(Malformed, match=r"MetadataRequest.topics at byte 4: .* above 200000 elements"):
        decode((limit + 1).to_bytes(4, "big") + bytes(2) * (limit + 1), 0)


def test_unknown_tags_count_as_elements() -> None:
    decode = compile_decoder(JoinGroupRequest, 6)
    head = b"\x01" + bytes(8) + b"\x01\x00\x01"
    tags = b"\x40" + b"".join(bytes([number, 0]) for number in range(64))
    data = head + b"\xc1\x02" + (b"\x01\x01" + tags) * 320 + b"\x00"
    with pytest.raises(Malformed, match=r"protocols.unknown_tags .* above 20000 elements"):
        decode(data, 0)


def test_fixed_fields_and_the_length_behind_them_are_one_unpack() -> None:
    writer = DecoderSource(layout(FetchRequest, 12), 10)
    writer.build("test")
    reads = [line.strip() for line in writer.code.lines if "unpack" in line and "partition," in line]
    assert len(reads) == 1
    assert reads[0].count(".") == 6  # All six fields of a partition,
    assert ", n, = unpack" in reads[0]  # and the count of its tagged fields.


def test_nested_tagged_structs_have_readers_of_their_own() -> None:
    writer = DecoderSource(layout(ProduceResponse, 10), 10)
    decode = writer.build("test")
    assert sum(line.startswith("def read") for line in writer.code.lines) == 2
    data = bytes.fromhex("01 00000000 01 00 0d 02 00000001 02 68 00002383 00 00")
    assert decode(data, 0)[0].node_endpoints[0].port == 9_091
