"""Request and response headers, in all their versions and with every possible fault."""

from __future__ import annotations

import pytest

from protocol.api_keys import ApiKey
from protocol.errors import Malformed
from protocol.headers import (
    decode_request_header,
    decode_response_header,
    encode_request_header,
    encode_response_header,
    is_flexible,
)

V1 = bytes.fromhex("0003 0004 00000007 0003 616263")  # Metadata v4, correlation 7, client "abc"


def test_header_v1_has_key_version_correlation_and_client() -> None:
    header = decode_request_header(memoryview(V1 + b"body"))
    assert (header.api_key, header.api_version, header.correlation_id) == (3, 4, 7)
    assert (header.client_id, header.size_bytes) == ("abc", len(V1))


def test_header_v2_ends_with_tagged_fields_and_keeps_the_wide_client_length() -> None:
    header = decode_request_header(memoryview(bytes.fromhex("0003 0009 00000007 0003 616263 00") + b"body"))
    assert (header.client_id, header.size_bytes) == ("abc", 14)


def test_tagged_fields_of_a_header_are_passed_over() -> None:
    tagged = bytes.fromhex("0003 0009 00000007 ffff 02 05 01 aa 90 01 00")
    assert decode_request_header(memoryview(tagged)).size_bytes == len(tagged)


def test_client_id_may_be_null_or_empty() -> None:
    assert decode_request_header(memoryview(bytes.fromhex("0003 0004 00000007 ffff"))).client_id is None
    assert decode_request_header(memoryview(bytes.fromhex("0003 0004 00000007 0000"))).client_id == ""


@pytest.mark.parametrize("api_key", [-1, 93, 32_767])
def test_unknown_api_is_read_as_v1(api_key: int) -> None:
    frame = api_key.to_bytes(2, "big", signed=True) + V1[2:] + b"\xff\xff"
    header = decode_request_header(memoryview(frame))
    assert (header.api_key, header.correlation_id, header.client_id) == (api_key, 7, "abc")
    assert header.size_bytes == len(V1)


def test_unknown_version_of_a_known_api_is_read_as_flexible() -> None:
    header = decode_request_header(memoryview(bytes.fromhex("0012 7fff 00000007 0003 616263 00")))
    assert (header.api_version, header.size_bytes) == (32_767, 14)


def test_negative_version_is_read_as_v1() -> None:
    assert decode_request_header(memoryview(bytes.fromhex("0003 ffff 00000007 ffff"))).api_version == -1


@pytest.mark.parametrize(
    ("frame", "field", "position"),
    [
        ("", "api_key", 0),
        ("00", "api_key", 0),
        ("0003 00", "api_version", 2),
        ("0003 0004 000000", "correlation_id", 4),
        ("0003 0004 00000007 00", "client_id", 8),
        ("0003 0004 00000007 0003 6162", "client_id", 10),
        ("0003 0004 00000007 fffe", "client_id", 10),
        ("0003 0009 00000007 ffff", "unknown_tags", 10),
        ("0003 0009 00000007 ffff 01 05", "unknown_tags", 12),
        ("0003 0009 00000007 ffff 41", "unknown_tags", 11),
        ("0003 0009 00000007 ffff 02 05 00 05 00", "unknown_tags", 14),
        ("0003 0009 00000007 ffff 01 05 7f", "unknown_tags", 13),
        ("0003 0009 00000007 ffff ffffffffff", "unknown_tags", 14),
    ],
)
def test_bad_header_names_field_and_position(frame: str, field: str, position: int) -> None:
    with pytest.raises(Malformed) as caught:
        decode_request_header(memoryview(bytes.fromhex(frame)))
    assert (caught.value.field, caught.value.position) == (f"RequestHeader.{field}", position)


@pytest.mark.parametrize("client_id", [None, "", "rdkafka", "ünïcode"])
@pytest.mark.parametrize(("api_key", "version"), [(3, 4), (3, 9), (18, 3), (17, 1), (99, 0)])
def test_request_headers_survive_the_wire(api_key: int, version: int, client_id: str | None) -> None:
    data = encode_request_header(api_key=api_key, api_version=version, correlation_id=-5, client_id=client_id)
    header = decode_request_header(memoryview(data))
    assert (header.api_key, header.api_version, header.correlation_id) == (api_key, version, -5)
    assert (header.client_id, header.size_bytes) == (client_id, len(data))


def test_response_header_has_tags_in_flexible_versions() -> None:
    assert encode_response_header(ApiKey.METADATA, 8, 7) == bytes.fromhex("00000007")
    assert encode_response_header(ApiKey.METADATA, 9, 7) == bytes.fromhex("00000007 00")


@pytest.mark.parametrize("version", [0, 3, 4, 99])
def test_api_versions_is_always_answered_with_header_v0(version: int) -> None:
    assert encode_response_header(ApiKey.API_VERSIONS, version, 7) == bytes.fromhex("00000007")
    assert decode_response_header(ApiKey.API_VERSIONS, version, memoryview(b"\0\0\0\7\0")) == (7, 4)


def test_response_headers_are_read_back() -> None:
    assert decode_response_header(ApiKey.METADATA, 8, memoryview(b"\0\0\0\7\0")) == (7, 4)
    assert decode_response_header(ApiKey.METADATA, 9, memoryview(b"\0\0\0\7\0")) == (7, 5)
    with pytest.raises(Malformed, match="correlation_id"):
        decode_response_header(ApiKey.METADATA, 9, memoryview(b"\0\0"))


def test_sasl_handshake_is_never_flexible() -> None:
    assert not is_flexible(ApiKey.SASL_HANDSHAKE, 1)


def test_repr_shows_all() -> None:
    assert repr(decode_request_header(memoryview(V1))) == (
        "RequestHeader(api_key=3, api_version=4, correlation_id=7, client_id='abc', size_bytes=13)"
    )


def test_a_client_id_that_is_not_utf_8_is_read_as_java_reads_it() -> None:
    header = decode_request_header(memoryview(bytes.fromhex("0003 0004 00000007 0003 61ff62")))
    assert (header.client_id, header.size_bytes) == ("a\ufffdb", 13)
