"""`kawal messages`: the ids of messages, `ledger:entry:partition:batch-index`, and where they are."""

from __future__ import annotations

import argparse
import json
from typing import Any

from console.admin import check
from console.client import add_bootstrap
from console.errors import FAILED
from console.help import Actions, describe
from console.help import dispatch as run
from console.message_ids import id_text, parsed
from console.silence import told_of
from console.tables import table
from console.wire import ask
from protocol.messages.kawal_messages import (
    KawalMessagesRequest,
    LocatedMessage,
    MessageId,
    MessageOffset,
)

__all__ = ["configure", "run"]

HEADINGS = {"id": "ID", "partition": "PARTITION", "offset": "OFFSET", "entry": "ENTRY", "exact": "EXACT"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    describe(
        parser,
        "Show the ids of messages in topics with kawal.message.ids, and find messages by their ids.",
        [
            ("messages locate orders 0:4711", "the id of the message at an offset of partition 0"),
            ("messages locate orders 3:120:0:-1", "the offset of a message with an id"),
        ],
    )
    actions = Actions(parser)
    action = actions.add(
        "locate",
        summary="find the id of a message, or the message with an id",
        description="""Find the ids of messages by partition and offset, and the offsets of messages by their
            ids, LEDGER:ENTRY:PARTITION:BATCH-INDEX. An entry is a batch, and is shown with its first and last
            offset. A message that compaction has removed together with its whole batch is not found exactly:
            the offsets are those that its batch had together with its neighbours.""",
        examples=[
            ("messages locate orders 0:4711 0:4712", "two messages by their offsets"),
            ("messages locate orders 3:120:0:-1 --json", "by the id, for a program"),
        ],
        run=_locate,
    )
    action.add_argument("topic", metavar="TOPIC", help="topic with kawal.message.ids")
    action.add_argument("message", metavar="ID|PARTITION:OFFSET", nargs="+", help="messages to find")
    action.add_argument("--json", action="store_true", help="print a JSON list")
    add_bootstrap(action)


def _locate(arguments: argparse.Namespace) -> int:
    asked = [parsed(text) for text in arguments.message]
    offsets = [item for item in asked if isinstance(item, MessageOffset)]
    ids = [item for item in asked if isinstance(item, MessageId)]
    request = KawalMessagesRequest(topic=arguments.topic, offsets=offsets, ids=ids)
    answer = ask(arguments.bootstrap, request)
    check(answer.error_code, answer.error_message, arguments.topic)
    places = iter(answer.messages[: len(offsets)])
    found = iter(answer.messages[len(offsets) :])
    located = [next(places if isinstance(item, MessageOffset) else found) for item in asked]
    rows = [_row(text, item) for text, item in zip(arguments.message, located, strict=True)]
    if arguments.json:
        print(json.dumps(rows, indent=2))
    else:
        _print(rows)
    whole = told_of(answer.silent_nodes)
    return FAILED if any("error" in row for row in rows) else whole


def _row(text: str, found: LocatedMessage) -> dict[str, Any]:
    if found.error_code:
        return {"asked": text, "error": found.error_message}
    return {
        "asked": text,
        "id": id_text(found),
        "partition": found.partition_index,
        "offset": found.offset,
        "first_offset": found.first_offset,
        "last_offset": found.last_offset,
        "exact": found.exact,
    }


def _print(rows: list[dict[str, Any]]) -> None:
    known = [row for row in rows if "error" not in row]
    if known:
        shown = [
            {**row, "entry": f"{row['first_offset']}-{row['last_offset']}", "exact": _yes(row["exact"])}
            for row in known
        ]
        print(table(list(HEADINGS.values()), [[row[name] for name in HEADINGS] for row in shown]))
    for row in rows:
        if "error" in row:
            print(f"{row['asked']}: {row['error']}")


def _yes(value: bool) -> str:
    return "yes" if value else "no"
