"""Errors say what is wrong, where, and with which values."""

from __future__ import annotations

import pytest

from protocol.errors import (
    Malformed,
    ProtocolError,
    RequestTooLarge,
    Unencodable,
    UnsupportedField,
    UnsupportedVersion,
)


def test_malformed_names_field_position_and_problem() -> None:
    error = Malformed(17, "FetchRequest.topics", "has length -7")
    assert str(error) == "FetchRequest.topics at byte 17: has length -7"
    assert (error.position, error.field, error.problem) == (17, "FetchRequest.topics", "has length -7")


def test_frame_too_large_names_size_and_limit() -> None:
    error = RequestTooLarge(2**31 - 1, 1_000)
    assert "2147483647 bytes" in str(error)
    assert (error.size_bytes, error.limit_bytes) == (2**31 - 1, 1_000)


def test_unsupported_version_names_api_and_version() -> None:
    error = UnsupportedVersion(3, 99)
    assert str(error) == "api key 3 has no version 99"
    assert (error.api_key, error.version) == (3, 99)
    assert str(UnsupportedVersion(3, 99, "MetadataRequest")) == "MetadataRequest has no version 99"


@pytest.mark.parametrize(
    "error",
    [
        Malformed(0, "", ""),
        RequestTooLarge(0, 1),
        UnsupportedVersion(0, 0),
        Unencodable("", ""),
        UnsupportedField("", ""),
    ],
)
def test_every_error_is_a_protocol_error(error: Exception) -> None:
    assert isinstance(error, ProtocolError)


def test_a_value_that_a_version_cannot_carry_is_one_that_cannot_be_encoded() -> None:
    assert issubclass(UnsupportedField, Unencodable)
