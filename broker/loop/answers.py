"""Answers that wait for the catalogue: what changed is told when it is on the disk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from broker.loop.call import PARKED, Call, Parked
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker.core import Broker


class Item(Protocol):
    """The part of an answer that tells of one thing."""

    error_code: int


def reply_when_durable(broker: Broker, call: Call[Any], response: object, changed: Sequence[Item]) -> Parked:
    """Answer the call when the changes made so far are durable; should they be lost, their items say so."""

    def recorded(error: ErrorCode | None) -> None:
        if error is not None:
            for item in changed:
                item.error_code = error
        call.reply(response)

    broker.topics.when_durable(recorded, call.received_ms)
    return PARKED
