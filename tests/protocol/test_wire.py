"""Decoding and encoding from outside: bytes, payloads, tags, versions and refusals."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from protocol.encoder_source import COPIED_BYTES_MAX
from protocol.errors import Malformed, TooManyElements, Unencodable, UnsupportedField, UnsupportedVersion
from protocol.messages.alter_configs import AlterConfigsRequest
from protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from protocol.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest
from protocol.messages.fetch import FetchableTopicResponse, FetchResponse, LeaderIdAndEpoch, PartitionData
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from protocol.wire import (
    RecordParts,
    Records,
    declaration,
    decode,
    decode_narrow,
    encode,
    joined,
    message,
    reference_codec,
    size_bytes,
    wire,
)


def produce(records: Any) -> ProduceRequest:
    topic = TopicProduceData(name="t", partition_data=[PartitionProduceData(index=3, records=records)])
    return ProduceRequest(transactional_id=None, acks=-1, timeout_ms=1_000, topic_data=[topic])


def fetched(records: Any, **more: Any) -> FetchResponse:
    partition = PartitionData(partition_index=3, high_watermark=9, records=records, **more)
    return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[partition])])


@pytest.mark.parametrize(
    ("message", "version", "data"),
    [
        (ApiVersionsRequest(), 0, ""),
        (ApiVersionsRequest(client_software_name="a", client_software_version="1"), 3, "02 61 02 31 00"),
        (
            ApiVersionsResponse(
                error_code=35, api_keys=[ApiVersion(api_key=18, min_version=0, max_version=4)]
            ),
            0,
            "0023 00000001 0012 0000 0004",
        ),
        (MetadataRequest(topics=None), 1, "ffffffff"),
        (MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 4, "00000001 0001 74 01"),
        (
            MetadataRequest(topics=[MetadataRequestTopic(topic_id=UUID(int=5), name=None)]),
            12,
            "02 00000000000000000000000000000005 00 00 01 00 00",
        ),
        (FindCoordinatorRequest(key="g"), 0, "0001 67"),
        (FindCoordinatorRequest(coordinator_keys=["g", "h"]), 4, "00 03 02 67 02 68 00"),
        (produce(b"\xaa\xbb"), 3, "ffff ffff 000003e8 00000001 0001 74 00000001 00000003 00000002 aabb"),
        (produce(b"\xaa\xbb"), 9, "00 ffff 000003e8 02 02 74 02 00000003 03 aabb 00 00 00"),
        (produce(None), 9, "00 ffff 000003e8 02 02 74 02 00000003 00 00 00 00"),
        (
            DescribeTopicPartitionsRequest(topics=[], cursor=Cursor(topic_name="t", partition_index=2)),
            0,
            "01 000007d0 01 02 74 00000002 00 00",
        ),
        (DescribeTopicPartitionsRequest(topics=[]), 0, "01 000007d0 ff 00"),
        (AlterConfigsRequest(resources=[], validate_only=True), 2, "01 01 00"),
    ],
)
def test_known_messages_have_known_bytes(message: Any, version: int, data: str) -> None:
    raw = bytes.fromhex(data)
    assert joined(encode(message, version)) == raw
    assert decode(type(message), version, raw) == (message, len(raw))


def test_tagged_struct_is_written_with_its_own_tags() -> None:
    response = fetched(None, current_leader=LeaderIdAndEpoch(leader_id=1, leader_epoch=2))
    data = joined(encode(response, 12))
    assert data.endswith(bytes.fromhex("01 01 09 00000001 00000002 00 00 00"))
    assert decode(FetchResponse, 12, data)[0] == response


def test_records_are_slices_of_the_input() -> None:
    frame = bytearray(joined(encode(produce(b"x" * 5_000), 9)))
    request, _ = decode(ProduceRequest, 9, memoryview(frame))
    records = request.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    frame[:] = bytes(len(frame))
    assert bytes(records) == bytes(5_000)


def test_records_are_sent_as_they_are() -> None:
    batch = memoryview(bytes(5_000))
    buffers = encode(fetched(batch), 4)
    assert any(buffer is batch for buffer in buffers)
    assert size_bytes(buffers) == 5_000 + len(joined(encode(fetched(b""), 4)))


def sync_request(*assignments: bytes) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id="g",
        generation_id=1,
        member_id="m",
        assignments=[SyncGroupRequestAssignment(member_id="m", assignment=data) for data in assignments],
    )


@pytest.mark.parametrize("version", [3, 5])
def test_large_bytes_are_sent_as_they_are(version: int) -> None:
    large, message = bytes(COPIED_BYTES_MAX + 1), sync_request(b"a", b"", b"c")
    message.assignments[1].assignment = large
    buffers = encode(message, version)
    assert [buffer is large for buffer in buffers] == [False, True, False]
    assert joined(buffers) == joined(reference_codec(SyncGroupRequest, version).encode(message))
    assert decode(SyncGroupRequest, version, joined(buffers))[0] == message


def test_bytes_that_are_not_large_are_copied_into_one_buffer() -> None:
    assert len(encode(sync_request(bytes(COPIED_BYTES_MAX), b"b"), 5)) == 1


class FilePart:
    """A range of a file, as a broker would send it."""

    size_bytes = 100_000


def test_records_in_several_places_are_sent_in_order_under_one_length() -> None:
    part = FilePart()
    for version in (4, 12):
        buffers = encode(fetched(RecordParts([b"abc", part], 100_003)), version)
        at = next(index for index, buffer in enumerate(buffers) if buffer is part)
        assert buffers[at - 1] == b"abc"
        head = buffers[at - 2]
        assert isinstance(head, bytearray)
        length = (100_003).to_bytes(4, "big") if version == 4 else bytes.fromhex("a4 8d 06")
        assert head.endswith(length)


def test_parts_elsewhere_cannot_be_joined() -> None:
    with pytest.raises(AssertionError, match="elsewhere"):
        joined(encode(fetched(RecordParts([FilePart()], 100_000)), 4))


@pytest.mark.parametrize("version", [0, 3])
def test_longest_string_goes_through(version: int) -> None:
    request = FindCoordinatorRequest(key="x" * 32_767)
    assert decode(FindCoordinatorRequest, version, joined(encode(request, version)))[0] == request


def test_unknown_tags_survive_byte_for_byte() -> None:
    data = bytes.fromhex("02 00000000000000000000000000000005 00 01 07 02 aabb 01 00 02 05 00 c801 01 ff")
    request, end = decode(MetadataRequest, 12, data)
    assert end == len(data)
    assert request.unknown_tags == {5: b"", 200: b"\xff"}  # type: ignore[attr-defined]
    assert joined(encode(request, 12)) == data


def test_a_version_without_tags_refuses_unknown_tags() -> None:
    request = MetadataRequest(topics=None)
    setattr(request, "unknown_tags", {5: b""})  # noqa: B010
    with pytest.raises(UnsupportedField, match=r"MetadataRequest.unknown_tags"):
        encode(request, 8)
    assert joined(encode(request, 9)).endswith(b"\x01\x05\x00")


def test_unknown_tags_may_not_take_the_number_of_a_known_one() -> None:
    response = ApiVersionsResponse(api_keys=[], finalized_features_epoch=5)
    setattr(response, "unknown_tags", {1: b""})  # noqa: B010
    with pytest.raises(Unencodable, match="tag 1 is also in unknown_tags"):
        encode(response, 3)


def test_value_that_a_version_cannot_carry_is_refused() -> None:
    with pytest.raises(
        UnsupportedField, match=r"coordinator_keys: \['g'\] is set; version 3 has no such field"
    ):
        encode(FindCoordinatorRequest(coordinator_keys=["g"]), 3)


def test_ignorable_value_that_a_version_cannot_carry_is_dropped() -> None:
    response = ApiVersionsResponse(api_keys=[], throttle_time_ms=7)
    assert joined(encode(response, 0)) == bytes(6)


def test_field_that_a_version_does_not_carry_has_its_default() -> None:
    assert decode(MetadataRequest, 1, bytes(4))[0].allow_auto_topic_creation is True


@pytest.mark.parametrize("version", [-1, 14, 32_767])
def test_version_outside_the_declared_ones_is_unsupported(version: int) -> None:
    for _ in range(2):
        with pytest.raises(UnsupportedVersion) as caught:
            decode(MetadataRequest, version, b"")
        assert (caught.value.api_key, caught.value.version) == (3, version)
    with pytest.raises(UnsupportedVersion):
        encode(MetadataRequest(topics=None), version)
    with pytest.raises(UnsupportedVersion):
        reference_codec(MetadataRequest, version)


def test_stored_schemas_have_no_api_key() -> None:
    @message(versions="0")
    class Stored:
        """A record kept by the broker."""

        payload: bytes | None = wire(Records, nullable="0+", default=None)

    assert declaration(Stored).api is None
    with pytest.raises(UnsupportedVersion, match="Stored has no version 1") as caught:
        decode(Stored, 1, b"")
    assert caught.value.api_key == -1
    large = bytes(9_000)
    assert encode(Stored(payload=large), 0)[1] is large


@pytest.mark.parametrize("input_type", [bytes, bytearray, memoryview])
def test_any_bytes_can_be_decoded_from_any_position(input_type: Any) -> None:
    data = input_type(b"??" + bytes.fromhex("0001 67") + b"!!")
    assert decode(FindCoordinatorRequest, 0, data, 2) == (FindCoordinatorRequest(key="g"), 5)


def test_position_of_a_complaint_counts_from_the_beginning_of_the_input() -> None:
    with pytest.raises(Malformed, match=r"FindCoordinatorRequest.key at byte 4: claims 9 bytes; 1 are left"):
        decode(FindCoordinatorRequest, 0, b"??\x00\x09g", 2)


def test_codecs_are_made_once() -> None:
    assert reference_codec(MetadataRequest, 4) is reference_codec(MetadataRequest, 4)


def test_a_narrow_decoder_takes_what_the_usual_one_does_up_to_a_number_of_elements() -> None:
    topics = [MetadataRequestTopic(name=f"t{number}") for number in range(10)]
    data = joined(encode(MetadataRequest(topics=topics), 12))
    assert decode_narrow(MetadataRequest, 12, data, 0, 10) == decode(MetadataRequest, 12, data)
    with pytest.raises(TooManyElements, match="above 9 elements"):
        decode_narrow(MetadataRequest, 12, data, 0, 9)


def test_messages_without_generated_code_are_never_narrow() -> None:
    data = joined(encode(ListGroupsRequest(), 5))
    with pytest.raises(TooManyElements):
        decode_narrow(ListGroupsRequest, 5, data, 0, 1_000)
