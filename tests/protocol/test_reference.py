"""The reference codec, built from construct: hostile input, refusals and construct's own entry points."""

from __future__ import annotations

from typing import Any

import pytest
from construct import Construct, StreamError

from protocol.errors import Malformed, Unencodable
from protocol.messages.alter_configs import AlterConfigsRequest
from protocol.messages.describe_acls import DescribeAclsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.metadata import MetadataRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.schema import declaration
from protocol.wire import reference_codec
from tests.protocol.hostile import CASES, case_name


@pytest.mark.parametrize(("cls", "version", "data", "field", "position", "problem"), CASES, ids=case_name)
def test_lies_are_malformed(
    cls: type[Any], version: int, data: str, field: str, position: int, problem: str
) -> None:
    with pytest.raises(Malformed) as caught:
        reference_codec(cls, version).decode(bytes.fromhex(data))
    found = caught.value
    assert (found.field, found.position, found.problem) == (f"{cls.__name__}.{field}", position, problem)


def test_codec_is_a_construct_with_construct_s_entries() -> None:
    codec = reference_codec(FindCoordinatorRequest, 0)
    assert isinstance(codec, Construct)
    assert codec.parse(b"\x00\x01g!") == FindCoordinatorRequest(key="g")
    assert codec.build(FindCoordinatorRequest(key="g")) == b"\x00\x01g"
    assert not isinstance(Malformed(0, "", ""), StreamError)


def test_all_elements_of_a_message_share_one_limit() -> None:
    codec = reference_codec(AlterConfigsRequest, 0)
    limit = declaration(AlterConfigsRequest).elements_max
    resource = bytes(3) + (1).to_bytes(4, "big") + b"\x00\x00\xff\xff"
    for count, fits in ((limit // 2, True), (limit // 2 + 1, False)):
        data = count.to_bytes(4, "big") + resource * count + b"\x00"
        if fits:
            assert len(codec.decode(data)[0].resources) == count
        else:
            with pytest.raises(Malformed, match=rf"resources.configs .* above {limit} elements"):
                codec.decode(data)


def test_unknown_tags_count_as_elements() -> None:
    tags = b"\x40" + b"".join(bytes([number, 0]) for number in range(64))
    count = 800  # 800 * (64 + 1) > 50,000
    data = b"\xa1\x06" + (b"\x02\x01\x01" + tags) * count + b"\x00\x00"
    with pytest.raises(Malformed, match=r"resources.unknown_tags .* above 50000 elements"):
        reference_codec(AlterConfigsRequest, 2).decode(data)


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("operation", 128, "128 does not fit Int8"),
        ("operation", None, "None does not fit Int8"),
        ("operation", "x", "'x' does not fit Int8"),
        ("resource_name_filter", b"x", "bytes of 1 bytes does not fit String"),
        ("resource_name_filter", "x" * 32_768, "bytes of 32768 bytes does not fit String"),
        ("resource_name_filter", "\ud800", r"'\ud800' does not fit String"),
    ],
)
def test_values_that_do_not_fit_are_refused(name: str, value: Any, problem: str) -> None:
    request = DescribeAclsRequest(
        resource_type_filter=1,
        resource_name_filter=None,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    setattr(request, name, value)
    with pytest.raises(Unencodable) as caught:
        reference_codec(DescribeAclsRequest, 1).encode(request)
    assert (caught.value.field, caught.value.problem) == (f"DescribeAclsRequest.{name}", problem)


def test_null_is_refused_where_the_version_does_not_allow_it() -> None:
    assert reference_codec(MetadataRequest, 1).build(MetadataRequest(topics=None)) == b"\xff\xff\xff\xff"
    with pytest.raises(Unencodable, match=r"MetadataRequest.topics: None does not fit"):
        reference_codec(MetadataRequest, 0).build(MetadataRequest(topics=None))


@pytest.mark.parametrize("records", [5, "text", [b"x"]])
def test_payloads_must_be_bytes(records: Any) -> None:
    partition = PartitionProduceData(index=3, records=records)
    request = ProduceRequest(
        transactional_id=None,
        acks=1,
        timeout_ms=1,
        topic_data=[TopicProduceData(name="t", partition_data=[partition])],
    )
    with pytest.raises(Unencodable, match=r"records: .* does not fit Records"):
        reference_codec(ProduceRequest, 9).encode(request)


def test_elements_must_be_of_the_declared_struct() -> None:
    with pytest.raises(Unencodable, match=r"MetadataRequest.topics: 5 does not fit 'MetadataRequestTopic'"):
        reference_codec(MetadataRequest, 1).encode(MetadataRequest(topics=[5]))  # type: ignore[list-item]
