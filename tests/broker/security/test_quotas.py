"""Quotas: what an entity is, what it may have, and which entity decides for a client."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.errors import RequestError
from broker.security.quotas import CLIENT_KEYS, IP_KEYS, Part, check_value, entity_of, levels
from protocol.error_codes import ErrorCode


def test_an_entity_has_its_parts_in_one_order() -> None:
    assert entity_of([("user", "u"), ("client-id", None)]) == (("client-id", None), ("user", "u"))


@pytest.mark.parametrize(
    "parts",
    [[], [("group", "g")], [("user", "")], [("ip", "1.2.3.4"), ("user", "u")], [("ip", ""), ("ip", None)]],
)
def test_what_is_no_entity_is_refused(parts: list[Part]) -> None:
    with pytest.raises(RequestError) as refused:
        entity_of(parts)
    assert refused.value.code == ErrorCode.INVALID_REQUEST


@given(
    st.sampled_from([(("user", "u"),), (("ip", None),)]),
    st.sampled_from(sorted(CLIENT_KEYS | IP_KEYS)) | st.text(max_size=5),
    st.floats(),
)
def test_a_value_is_taken_or_refused_with_a_reason(entity: tuple[Part, ...], key: str, value: float) -> None:
    known = key in (IP_KEYS if entity[0][0] == "ip" else CLIENT_KEYS)
    bounded = key not in {"request_percentage", "controller_mutation_rate"}
    if not known or not value > 0 or (bounded and not (value <= 2**63 and is_whole(value))):
        with pytest.raises(RequestError, match=re.escape(key) or None):
            check_value(entity, key, value)
    elif key != "connection_creation_rate" or value < 2**31:
        check_value(entity, key, value)


def is_whole(value: float) -> bool:
    return abs(value - round(value)) <= 1e-6


def test_the_entities_that_decide_come_in_kafkas_order() -> None:
    assert list(levels("u", "c")) == [
        ((("client-id", "c"), ("user", "u")), ("u", "c")),
        ((("client-id", None), ("user", "u")), ("u", "c")),
        ((("user", "u"),), ("u", "")),
        ((("client-id", "c"), ("user", None)), ("u", "c")),
        ((("client-id", None), ("user", None)), ("u", "c")),
        ((("user", None),), ("u", "")),
        ((("client-id", "c"),), ("", "c")),
        ((("client-id", None),), ("", "c")),
    ]


def test_an_entity_that_decides_is_written_as_one_that_is_set() -> None:
    for entity, _ in levels("u", "c"):
        assert entity_of(entity) == entity
