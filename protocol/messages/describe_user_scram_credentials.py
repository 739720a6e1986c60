"""DescribeUserScramCredentials (50): the SCRAM credentials of users."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int8, Int16, Int32, String, message, struct, wire


@struct
class UserName:
    """A user."""

    name: str = wire(String)


@message(api=ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, versions="0", flexible="0+")
class DescribeUserScramCredentialsRequest:
    """A request for some users, or with null or [] for all.

    Source: KIP-554.
    """

    users: list[UserName] | None = wire(ArrayOf(UserName), nullable="0+")


@struct
class CredentialInfo:
    """A credential of a user."""

    mechanism: int = wire(Int8)  # 1: SCRAM-SHA-256, 2: SCRAM-SHA-512
    iterations: int = wire(Int32)


@struct
class DescribeUserScramCredentialsResult:
    """The credentials of one user."""

    user: str = wire(String)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    credential_infos: list[CredentialInfo] = wire(ArrayOf(CredentialInfo))


@message(api=ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, versions="0", flexible="0+")
class DescribeUserScramCredentialsResponse:
    """The mechanisms and iterations of each user, never the secrets.

    Source: KIP-554.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    results: list[DescribeUserScramCredentialsResult] = wire(ArrayOf(DescribeUserScramCredentialsResult))
