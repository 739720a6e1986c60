"""AlterUserScramCredentials (51): set and remove SCRAM credentials."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bytes, Int8, Int16, Int32, String, message, struct, wire


@struct
class ScramCredentialDeletion:
    """A credential to remove."""

    name: str = wire(String)
    mechanism: int = wire(Int8)  # 1: SCRAM-SHA-256, 2: SCRAM-SHA-512


@struct
class ScramCredentialUpsertion:
    """A credential to set."""

    name: str = wire(String)
    mechanism: int = wire(Int8)  # 1: SCRAM-SHA-256, 2: SCRAM-SHA-512
    iterations: int = wire(Int32)
    salt: bytes = wire(Bytes, secret=True)
    salted_password: bytes = wire(Bytes, secret=True)


@message(api=ApiKey.ALTER_USER_SCRAM_CREDENTIALS, versions="0", flexible="0+")
class AlterUserScramCredentialsRequest:
    """A request to remove and set credentials of users; the password itself is never sent.

    Source: KIP-554.
    """

    deletions: list[ScramCredentialDeletion] = wire(ArrayOf(ScramCredentialDeletion))
    upsertions: list[ScramCredentialUpsertion] = wire(ArrayOf(ScramCredentialUpsertion))


@struct
class AlterUserScramCredentialsResult:
    """The outcome for one user."""

    user: str = wire(String)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)


@message(api=ApiKey.ALTER_USER_SCRAM_CREDENTIALS, versions="0", flexible="0+")
class AlterUserScramCredentialsResponse:
    """The outcome for each user.

    Source: KIP-554.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    results: list[AlterUserScramCredentialsResult] = wire(ArrayOf(AlterUserScramCredentialsResult))
