"""DescribeUserScramCredentials: v0.

Behaviour: lists the SCRAM mechanisms a user has credentials for, with their iterations; a request that names
no user asks for all.
Differences from Apache Kafka: none known.
Version notes: v0 only (KIP-554).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.loop.call import Call
from broker.loop.slices import Steps, begun, made_of, tallied
from broker.security.scram import Mechanism, iterations_of
from protocol.error_codes import ErrorCode, cut_message
from protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

if TYPE_CHECKING:
    from broker.core import Broker


def handle(
    broker: Broker, call: Call[DescribeUserScramCredentialsRequest]
) -> DescribeUserScramCredentialsResponse | Steps:
    """Describe the users that are named, or all."""
    answer: DescribeUserScramCredentialsResponse | Steps = begun(_describe(broker, call.request))
    return answer


def _describe(broker: Broker, request: DescribeUserScramCredentialsRequest) -> Steps:
    known = broker.catalogue.scram_credentials
    users = request.users
    times = yield from tallied((user.name for user in users) if users else tuple(known))
    results = yield from made_of(times, lambda user: _described(user, known.get(user), times[user]))
    return DescribeUserScramCredentialsResponse(error_message="", results=results)


def _described(
    user: str, credentials: dict[str, str] | None, times: int
) -> DescribeUserScramCredentialsResult:
    result = DescribeUserScramCredentialsResult(user=user, error_message="", credential_infos=[])
    if times > 1:
        result.error_code = ErrorCode.DUPLICATE_RESOURCE
        result.error_message = cut_message(
            f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
        )
    elif credentials is None:
        result.error_code = ErrorCode.RESOURCE_NOT_FOUND
        result.error_message = cut_message(
            f"Attempt to describe a user credential that does not exist: {user}"
        )
    else:
        result.credential_infos = [
            CredentialInfo(mechanism=mechanism, iterations=iterations_of(credentials[mechanism.name]))
            for mechanism in Mechanism
            if mechanism.name in credentials
        ]
    return result
