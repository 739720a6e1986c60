"""The frame of values."""

from __future__ import annotations

import pytest

from registry.framing import frame_problem, payload, schema_id


def test_a_frame_names_a_schema() -> None:
    data = b"\0\0\0\1\2{}"
    assert (schema_id(data), payload(data)) == (258, b"{}")


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "has at least 5 bytes, and this one has 0"),
        (b"\0\0\0\1", "has at least 5 bytes, and this one has 4"),
        (b"{1234}", "begins with the byte 0, and this one with 123"),
        (b"\0\xff\xff\xff\xff{}", "the schema id -1 is negative"),
    ],
)
def test_what_has_no_frame_is_told(data: bytes, sentence: str) -> None:
    assert schema_id(data) is None
    assert sentence in frame_problem(data)
