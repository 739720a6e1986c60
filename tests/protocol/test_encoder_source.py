"""Generated encoders: their refusals, and the look of the code."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.compiled import compile_encoder
from protocol.encoder_source import EncoderSource, explain
from protocol.errors import Unencodable, UnsupportedField
from protocol.layout import layout
from protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from protocol.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("generation_id", 2**31, "2147483648 does not fit Int32"),
        ("generation_id", None, "None does not fit Int32"),
        ("group_id", None, "None does not fit String"),
        ("group_id", 5, "5 does not fit String"),
        ("member_id", "x" * 32_768, "bytes of 32768 bytes does not fit String"),
        ("member_id", "\udc80", r"'\udc80' does not fit String"),
    ],
)
@pytest.mark.parametrize("version", [0, 4])
def test_values_that_do_not_fit_are_refused_by_name(
    name: str, value: Any, problem: str, version: int
) -> None:
    request = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    setattr(request, name, value)
    with pytest.raises(Unencodable) as caught:
        compile_encoder(HeartbeatRequest, version)(request)
    assert (caught.value.field, caught.value.problem) == (f"HeartbeatRequest.{name}", problem)


def test_value_that_the_version_does_not_carry_is_refused() -> None:
    request = HeartbeatRequest(group_id="g", generation_id=1, member_id="m", group_instance_id="i")
    with pytest.raises(UnsupportedField, match=r"group_instance_id: 'i' is set; version 2 has no such field"):
        compile_encoder(HeartbeatRequest, 2)(request)


def test_a_partition_deep_inside_is_named() -> None:
    partition = PartitionProduceResponse(index=1, base_offset=2**63)
    response = ProduceResponse(responses=[TopicProduceResponse(name="t", partition_responses=[partition])])
    with pytest.raises(Unencodable, match=r"ProduceResponse.responses.partition_responses.base_offset"):
        compile_encoder(ProduceResponse, 9)(response)


def test_what_the_reference_codec_can_encode_is_an_error_of_the_generated_code() -> None:
    original = TypeError("bug")
    assert explain(HeartbeatResponse(), 0, original) is original


def test_fixed_fields_and_the_length_behind_them_are_one_pack() -> None:
    writer = EncoderSource(layout(HeartbeatRequest, 4), 4)
    writer.build("test")
    assert sum("pack" in line and "message.generation_id, n + 1" in line for line in writer.code.lines) == 1


def test_messages_without_records_are_one_buffer() -> None:
    assert (
        len(compile_encoder(FindCoordinatorRequest, 4)(FindCoordinatorRequest(coordinator_keys=["g"] * 99)))
        == 1
    )


def test_no_empty_buffer_is_left_behind_a_payload() -> None:
    partition = PartitionData(partition_index=3, high_watermark=9, records=bytes(5_000))
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[partition])])
    assert [len(buffer) for buffer in compile_encoder(FetchResponse, 4)(response)][1:] == [5_000]  # type: ignore[arg-type]
