"""The messages of delegation tokens against bytes that Apache Kafka 4.3.1's own generated classes wrote."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.messages import (
    create_delegation_token,
    describe_delegation_token,
    expire_delegation_token,
    renew_delegation_token,
)
from protocol.wire import decode, encode, joined


def create_request(**newer: Any) -> create_delegation_token.CreateDelegationTokenRequest:
    renewer = create_delegation_token.CreatableRenewers(principal_type="User", principal_name="r")
    return create_delegation_token.CreateDelegationTokenRequest(
        renewers=[renewer], max_lifetime_ms=1000, **newer
    )


def create_response(**newer: Any) -> create_delegation_token.CreateDelegationTokenResponse:
    return create_delegation_token.CreateDelegationTokenResponse(
        error_code=61,
        principal_type="User",
        principal_name="o",
        issue_timestamp_ms=1,
        expiry_timestamp_ms=2,
        max_timestamp_ms=3,
        token_id="id",
        hmac=b"\1\2",
        throttle_time_ms=4,
        **newer,
    )


def describe_request() -> describe_delegation_token.DescribeDelegationTokenRequest:
    owner = describe_delegation_token.DescribeDelegationTokenOwner(principal_type="User", principal_name="o")
    return describe_delegation_token.DescribeDelegationTokenRequest(owners=[owner])


def describe_response(**newer: Any) -> describe_delegation_token.DescribeDelegationTokenResponse:
    renewer = describe_delegation_token.DescribedDelegationTokenRenewer(
        principal_type="User", principal_name="r"
    )
    token = describe_delegation_token.DescribedDelegationToken(
        principal_type="User",
        principal_name="o",
        issue_timestamp=1,
        expiry_timestamp=2,
        max_timestamp=3,
        token_id="id",
        hmac=b"\1\2",
        renewers=[renewer],
        **newer,
    )
    return describe_delegation_token.DescribeDelegationTokenResponse(tokens=[token], throttle_time_ms=4)


ALL = describe_delegation_token.DescribeDelegationTokenRequest(owners=None)
RENEW = renew_delegation_token.RenewDelegationTokenRequest(hmac=b"\1\2", renew_period_ms=5)
RENEWED = renew_delegation_token.RenewDelegationTokenResponse(
    error_code=62, expiry_timestamp_ms=6, throttle_time_ms=4
)
EXPIRE = expire_delegation_token.ExpireDelegationTokenRequest(hmac=b"\1\2", expiry_time_period_ms=-1)
EXPIRED = expire_delegation_token.ExpireDelegationTokenResponse(
    error_code=63, expiry_timestamp_ms=6, throttle_time_ms=4
)
OWNER = {"owner_principal_type": "User", "owner_principal_name": "o"}
REQUESTER = {"token_requester_principal_type": "User", "token_requester_principal_name": "q"}
TIMES = "000000000000000100000000000000020000000000000003"

GOLDEN: list[tuple[object, int, str]] = [
    (create_request(), 1, "0000000100045573657200017200000000000003e8"),
    (create_request(), 2, "02055573657202720000000000000003e800"),
    (create_request(**OWNER), 3, "0555736572026f02055573657202720000000000000003e800"),
    (
        create_delegation_token.CreateDelegationTokenRequest(
            owner_principal_type=None, owner_principal_name=None, renewers=[], max_lifetime_ms=-1
        ),
        3,
        "000001ffffffffffffffff00",
    ),
    (create_response(), 1, f"003d00045573657200016f{TIMES}0002696400000002010200000004"),
    (create_response(), 2, f"003d0555736572026f{TIMES}0369640301020000000400"),
    (create_response(**REQUESTER), 3, f"003d0555736572026f05557365720271{TIMES}0369640301020000000400"),
    (RENEW, 1, "0000000201020000000000000005"),
    (RENEW, 2, "030102000000000000000500"),
    (RENEWED, 1, "003e000000000000000600000004"),
    (RENEWED, 2, "003e00000000000000060000000400"),
    (EXPIRE, 1, "000000020102ffffffffffffffff"),
    (EXPIRE, 2, "030102ffffffffffffffff00"),
    (EXPIRED, 1, "003f000000000000000600000004"),
    (EXPIRED, 2, "003f00000000000000060000000400"),
    (describe_request(), 1, "0000000100045573657200016f"),
    (describe_request(), 2, "020555736572026f0000"),
    (describe_request(), 3, "020555736572026f0000"),
    (ALL, 1, "ffffffff"),
    (ALL, 3, "0000"),
    (
        describe_response(),
        1,
        f"00000000000100045573657200016f{TIMES}000269640000000201020000000100045573657200017200000004",
    ),
    (describe_response(), 2, f"0000020555736572026f{TIMES}036964030102020555736572027200000000000400"),
    (
        describe_response(**REQUESTER),
        3,
        f"0000020555736572026f05557365720271{TIMES}036964030102020555736572027200000000000400",
    ),
]


@pytest.mark.parametrize(
    ("message", "version", "expected"),
    GOLDEN,
    ids=[f"{type(message).__name__}-{version}-{len(text)}" for message, version, text in GOLDEN],
)
def test_bytes_are_those_of_kafka(message: Any, version: int, expected: str) -> None:
    assert joined(encode(message, version)).hex() == expected
    found, end = decode(type(message), version, memoryview(bytes.fromhex(expected)))
    assert (found, end) == (message, len(expected) // 2)


def test_no_secret_is_in_what_a_log_shows() -> None:
    for message in (create_response(), describe_response(), RENEW, EXPIRE):
        assert r"\x01\x02" not in repr(message)
