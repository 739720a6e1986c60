"""Every message in every version survives the wire, and no part of it is taken for the whole."""

from __future__ import annotations

import subprocess
import sys
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from protocol.api_keys import ApiKey
from protocol.errors import Malformed
from protocol.messages import DECLARED, request_type, response_type
from protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from protocol.schema import declaration
from protocol.wire import decode, encode, joined
from tests.strategies import MESSAGE_TYPES, MESSAGE_VERSIONS, messages, name_of, random_message


@pytest.mark.parametrize(("cls", "version"), MESSAGE_VERSIONS, ids=name_of)
def test_what_is_encoded_is_decoded(cls: type[Any], version: int) -> None:
    @settings(max_examples=5, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(message=messages(cls, version))
    def survives(message: Any) -> None:
        data = joined(encode(message, version))
        assert decode(cls, version, b"before" + data + b"behind", 6) == (message, 6 + len(data))

    survives()


@pytest.mark.parametrize(("cls", "version"), MESSAGE_VERSIONS, ids=name_of)
def test_message_cut_at_any_byte_is_malformed(cls: type[Any], version: int) -> None:
    chance = Random(f"{cls.__name__} {version}")
    data = min(
        (joined(encode(random_message(cls, version, chance), version)) for _ in range(5)), key=is_short
    )
    for size in range(len(data)):
        with pytest.raises(Malformed):
            decode(cls, version, memoryview(data)[:size])


def is_short(data: bytes) -> tuple[bool, int]:
    """Order messages so that the best has about 200 bytes."""
    return len(data) > 500, abs(len(data) - 200)


def test_every_api_has_its_request_and_its_response() -> None:
    for api_key in DECLARED:
        request, response = declaration(request_type(api_key)), declaration(response_type(api_key))
        assert request.api == response.api == api_key
        assert request.versions == response.versions
        assert request.hot == response.hot


def test_classes_are_named_after_their_api() -> None:
    assert request_type(ApiKey.ADD_PARTITIONS_TO_TXN) is AddPartitionsToTxnRequest


def test_an_undeclared_api_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        request_type(ApiKey.LEADER_AND_ISR)


def test_every_message_says_where_it_comes_from() -> None:
    assert [cls.__name__ for cls in MESSAGE_TYPES if "Source:" not in (cls.__doc__ or "")] == []


def test_a_hot_message_needs_neither_construct_nor_the_other_messages() -> None:
    script = (
        "import sys; from protocol.messages import request_type; from protocol.wire import decode, encode;"
        "import protocol.headers; cls = request_type(18); decode(cls, 0, b'');"
        "assert not {'construct', 'dataclasses', 'inspect', 'protocol.reference'} & set(sys.modules);"
        "print([name for name in sys.modules if name.startswith('protocol.messages.')])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "['protocol.messages.api_versions']"
