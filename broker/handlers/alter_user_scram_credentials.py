"""AlterUserScramCredentials: v0.

Behaviour: sets and deletes credentials of SCRAM users; the answer leaves when the changes are durable.  The
stored key and the server key are kept (broker/security/scram.py).  A user named twice in a request is not
altered at all.
Differences from Apache Kafka: an empty salted password answers UNACCEPTABLE_CREDENTIAL (Kafka: -1).
Version notes: v0 only (KIP-554).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from broker.catalogue.catalogue_records import ScramCredentials
from broker.errors import RequestError
from broker.loop.answers import PendingChanges
from broker.loop.call import Call, Parked
from broker.loop.slices import Pace, Steps, begun
from broker.security import scram
from protocol.error_codes import ErrorCode
from protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)

if TYPE_CHECKING:
    from broker.core import Broker

Item: TypeAlias = ScramCredentialDeletion | ScramCredentialUpsertion


def handle(
    broker: Broker, call: Call[AlterUserScramCredentialsRequest]
) -> AlterUserScramCredentialsResponse | Parked | Steps:
    """Alter every user that is named once."""
    answer: AlterUserScramCredentialsResponse | Parked | Steps = begun(_alter(broker, call))
    return answer


def _alter(broker: Broker, call: Call[AlterUserScramCredentialsRequest]) -> Steps:
    request = call.request
    results: dict[str, AlterUserScramCredentialsResult] = {}
    changes: dict[str, Item] = {}
    items: Iterator[Item] = chain(request.deletions, request.upsertions)
    known = broker.catalogue.scram_credentials
    pace = Pace()
    for item in items:
        if pace.due():
            yield
        result = results.get(item.name)
        if result is None:
            result = results[item.name] = AlterUserScramCredentialsResult(user=item.name)
        if result.error_code:
            continue
        try:
            if item.name in changes:
                raise RequestError(
                    ErrorCode.DUPLICATE_RESOURCE,
                    f"A user credential cannot be altered twice in the same request: {item.name}",
                )
            scram.check_name(item.name)
            _changed(known.get(item.name, {}), item)
            changes[item.name] = item
        except RequestError as error:
            result.error_code, result.error_message = error.code, error.message
            changes.pop(item.name, None)
    pending = PendingChanges(broker.metadata_log, call, broker.scheduler.offload)
    for user, item in changes.items():
        if pace.due():
            yield
        try:
            # Another request may have altered the user since the first look.
            credentials = _changed(known.get(user, {}), item)
            broker.metadata_log.append(ScramCredentials(user=user, credentials=credentials), call.received_ms)
        except RequestError as error:
            results[user].error_code, results[user].error_message = error.code, error.message
        else:
            pending.made(results[user])
    return pending.answer(AlterUserScramCredentialsResponse(results=list(results.values())))


def _changed(own: dict[str, str], item: Item) -> dict[str, str]:
    """Return the user's credentials after one alteration."""
    name = scram.mechanism_of(item.mechanism).name
    if isinstance(item, ScramCredentialUpsertion):
        return own | {name: scram.credential_of(item)}
    if name not in own:
        raise RequestError(
            ErrorCode.RESOURCE_NOT_FOUND,
            f"Attempt to delete a user credential that does not exist: {name} of {item.name}",
        )
    return {other: credential for other, credential in own.items() if other != name}
