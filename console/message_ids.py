"""Ids of messages as people write them: `ledger:entry:partition:batch-index`."""

from __future__ import annotations

import re

from console.errors import UsageError
from protocol.messages.kawal_messages import LocatedMessage, MessageId, MessageOffset

_PLACE = re.compile(r"([0-9]{1,9}):([0-9]{1,18})")
_ID = re.compile(r"([0-9]{1,9}):([0-9]{1,18}):(-1|[0-9]{1,9}):(-1|[0-9]{1,9})")


def parsed(text: str) -> MessageOffset | MessageId:
    """Return the message that is asked for.  Raises: UsageError."""
    if (place := _PLACE.fullmatch(text)) is not None:
        return MessageOffset(partition=int(place[1]), offset=int(place[2]))
    if (found := _ID.fullmatch(text)) is not None:
        ledger, entry, partition, batch_index = map(int, found.groups())
        return MessageId(ledger=ledger, entry=entry, partition=partition, batch_index=batch_index)
    raise UsageError(f"{text!r} is neither PARTITION:OFFSET nor LEDGER:ENTRY:PARTITION:BATCH-INDEX")


def id_text(found: LocatedMessage) -> str:
    """Return the id of a message that was found."""
    return f"{found.ledger}:{found.entry}:{found.partition}:{found.batch_index}"
