"""Requests about SCRAM credentials, as the tests of both APIs send them."""

from __future__ import annotations

import hashlib

from broker.security.scram import HASHES, Mechanism
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from tests.broker.gateway import Client


def upsertion(user: str, mechanism: int = 1, iterations: int = 4096) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=user, mechanism=mechanism, iterations=iterations, salt=b"s", salted_password=b"p"
    )


def upsertion_of(user: str, mechanism: str, password: str) -> ScramCredentialUpsertion:
    """Return what a client sends to give a user this password."""
    number = Mechanism[mechanism.replace("-", "_")]
    salt = f"salt of {user}".encode()
    salted = hashlib.pbkdf2_hmac(HASHES[number]().name, password.encode(), salt, 4096)
    return ScramCredentialUpsertion(
        name=user, mechanism=number, iterations=4096, salt=salt, salted_password=salted
    )


def deletion(user: str, mechanism: int = 1) -> ScramCredentialDeletion:
    return ScramCredentialDeletion(name=user, mechanism=mechanism)


def alter(client: Client, *items: ScramCredentialUpsertion | ScramCredentialDeletion) -> dict[str, int]:
    """Send the items and return the error code of each user."""
    request = AlterUserScramCredentialsRequest(
        deletions=[item for item in items if isinstance(item, ScramCredentialDeletion)],
        upsertions=[item for item in items if isinstance(item, ScramCredentialUpsertion)],
    )
    return {result.user: result.error_code for result in client.call(request, 0).results}


def describe(client: Client, *users: str) -> dict[str, list[tuple[int, int]] | int]:
    """Return each user's mechanisms with their iterations, or the error code; without names, of all users."""
    request = DescribeUserScramCredentialsRequest(users=[UserName(name=user) for user in users] or None)
    return {
        result.user: result.error_code
        or [(info.mechanism, info.iterations) for info in result.credential_infos]
        for result in client.call(request, 0).results
    }
