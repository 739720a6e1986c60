"""Ids of messages as the pages show them: `ledger:entry:partition:batch-index`, and where they lead."""

from __future__ import annotations

from typing import Final

from console.admin import check
from console.errors import UsageError
from console.message_ids import id_text, parsed
from console.web.errors import PageError
from console.web.record_rows import Place
from console.wire import ask
from protocol.messages.kawal_messages import KawalMessagesRequest, LocatedMessage, MessageOffset

EXAMPLE: Final = "3:120:0:-1"


def id_at(bootstrap: str, place: Place, offset: int) -> str:
    """Return the id of the message at an offset, "" if it has none.  Raises: CommandError."""
    asked = MessageOffset(partition=place.partition, offset=offset)
    answer = ask(bootstrap, KawalMessagesRequest(topic=place.topic, offsets=[asked], ids=[]))
    check(answer.error_code, answer.error_message, f"topic {place.topic!r}")
    (found,) = answer.messages
    return "" if found.error_code or not found.exact else id_text(found)


def place_of(bootstrap: str, topic: str, text: str) -> LocatedMessage:
    """Return where the message with an id is.

    Raises: PageError for what is no id, and for the id of no message; CommandError.
    """
    try:
        asked = parsed(text)
    except UsageError as error:
        raise PageError(400, f"{text[:60]!r} is no id; one is LEDGER:ENTRY:PARTITION:BATCH-INDEX") from error
    if isinstance(asked, MessageOffset):
        raise PageError(400, f"{text!r} is a partition and an offset; an id has four numbers, as {EXAMPLE}")
    answer = ask(bootstrap, KawalMessagesRequest(topic=topic, offsets=[], ids=[asked]))
    check(answer.error_code, answer.error_message, f"topic {topic!r}")
    found: LocatedMessage
    (found,) = answer.messages
    if found.error_code:
        raise PageError(404, found.error_message or f"no message of {topic!r} has the id {text}")
    if not found.exact:
        raise PageError(
            404,
            f"the message {text} was removed by compaction: it was one of the offsets "
            f"{found.first_offset} to {found.last_offset} of partition {found.partition_index}",
        )
    return found
