"""Requests about SCRAM credentials, as the tests of both APIs send them."""

from __future__ import annotations

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


def deletion(user: str, mechanism: int = 1) -> ScramCredentialDeletion:
    return ScramCredentialDeletion(name=user, mechanism=mechanism)


def alter(client: Client, *items: ScramCredentialUpsertion | ScramCredentialDeletion) -> dict[str, int]:
    """Send the items and return the error code of each user."""
    request = AlterUserScramCredentialsRequest(
        deletions=[one for one in items if isinstance(one, ScramCredentialDeletion)],
        upsertions=[one for one in items if isinstance(one, ScramCredentialUpsertion)],
    )
    return {one.user: one.error_code for one in client.call(request, 0).results}


def describe(client: Client, *users: str) -> dict[str, list[tuple[int, int]] | int]:
    """Ask for users, or for all; mechanisms with their rounds, or the error code."""
    request = DescribeUserScramCredentialsRequest(users=[UserName(name=user) for user in users] or None)
    return {
        one.user: one.error_code or [(info.mechanism, info.iterations) for info in one.credential_infos]
        for one in client.call(request, 0).results
    }
