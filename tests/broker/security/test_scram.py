"""The stored form of a SCRAM credential, compared with the example of RFC 7677."""

from __future__ import annotations

import hashlib
from base64 import b64decode, b64encode

import pytest

from broker.errors import RequestError
from broker.security.scram import (
    ITERATIONS,
    SALT_BYTES,
    Mechanism,
    check_name,
    credential_of,
    iterations_of,
    mechanism_of,
    model_of,
)
from protocol.error_codes import ErrorCode
from protocol.messages.alter_user_scram_credentials import ScramCredentialUpsertion

SALT = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
"""From RFC 7677's exchange of the user "user" with the password "pencil"."""


def given(**fields: object) -> ScramCredentialUpsertion:
    salted = hashlib.pbkdf2_hmac("sha256", b"pencil", SALT, 4096)
    values = {"name": "user", "mechanism": 1, "iterations": 4096, "salt": SALT, "salted_password": salted}
    return ScramCredentialUpsertion(**(values | fields))  # type: ignore[arg-type]


def test_the_keys_are_those_of_the_rfc_and_the_password_is_not_kept() -> None:
    kept = dict(part.split("=", 1) for part in credential_of(given()).split(","))
    assert kept == {
        "salt": "W22ZaJ0SNY7soEsUEjb6gQ==",
        "stored_key": "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=",
        "server_key": "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
        "iterations": "4096",
    }


def test_the_longer_hash_makes_longer_keys() -> None:
    kept = credential_of(given(mechanism=Mechanism.SCRAM_SHA_512))
    key = kept.partition("stored_key=")[2].partition(",")[0]
    assert len(b64decode(key)) == 64


def test_a_name_that_does_not_exist_has_rounds_and_salt_of_some_user() -> None:
    mechanism = Mechanism.SCRAM_SHA_256
    users = {
        "a": {mechanism.name: credential_of(given(iterations=5_000, salt=b"s" * 20))},
        "b": {Mechanism.SCRAM_SHA_512.name: "not looked at"},
        "c": {mechanism.name: credential_of(given(iterations=6_000, salt=b"s" * 26))},
    }

    def shape(mark: int) -> tuple[int, int]:
        found = model_of(users, mechanism, mark.to_bytes(8, "big"))
        return found.iterations, len(found.salt)

    assert [shape(0), shape(1), shape(2)] == [(5_000, 20), (6_000, 26), (5_000, 20)]
    alone = model_of({}, mechanism, b"")
    assert (alone.iterations, len(alone.salt)) == (ITERATIONS, SALT_BYTES)


def test_the_rounds_can_be_told() -> None:
    assert iterations_of(credential_of(given(iterations=8192))) == 8192


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"iterations": 4095}, "Too few iterations: 4095"),
        ({"iterations": 16385}, "Too many iterations: 16385"),
        ({"salted_password": b""}, "must not be empty"),
    ],
)
def test_what_is_unacceptable_is_named(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(RequestError, match=says) as refused:
        credential_of(given(**wrong))
    assert refused.value.code == ErrorCode.UNACCEPTABLE_CREDENTIAL


@pytest.mark.parametrize("number", [-1, 0, 3])
def test_other_mechanisms_are_refused(number: int) -> None:
    with pytest.raises(RequestError, match=f"mechanism {number}") as refused:
        mechanism_of(number)
    assert refused.value.code == ErrorCode.UNSUPPORTED_SASL_MECHANISM


def test_a_user_has_a_name() -> None:
    check_name("u")
    with pytest.raises(RequestError, match="Username"):
        check_name("")


def test_the_salt_is_kept_in_base64() -> None:
    assert f"salt={b64encode(b'xyz').decode()}," in credential_of(given(salt=b"xyz"))
