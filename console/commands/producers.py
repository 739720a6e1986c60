"""`kawal producers`: the last numbers of producers that a topic remembers by name (kawal.dedup=seqno)."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from typing import Any

from broker.server.logs import escaped
from console.admin import check
from console.client import add_bootstrap
from console.help import Actions, describe
from console.help import dispatch as run
from console.silence import told_of
from console.tables import table
from console.wire import ask
from protocol.messages.kawal_producers import KawalProducersRequest, NamedProducer

__all__ = ["configure", "run"]

HEADINGS = {
    "producer": "PRODUCER",
    "partition": "PARTITION",
    "last_seqno": "LAST SEQNO",
    "open_seqno": "IN TRANSACTION",
    "written": "WRITTEN",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    describe(
        parser,
        "Show what topics with kawal.dedup=seqno remember of their producers.",
        [
            ("producers describe readings sensor-7", "where this producer goes on"),
            ("producers describe readings", "all that the topic remembers"),
        ],
    )
    actions = Actions(parser)
    action = actions.add(
        "describe",
        summary="show last numbers and partitions of producers",
        description="""Show the last number of each producer, the partition that it wrote to last (with
            kawal.routing=producer-bind: the one that it is bound to), and the number that it has reached in a
            transaction that is open. A producer that starts again goes on after its last number. One that the
            topic does not remember has none.""",
        examples=[
            ("producers describe readings sensor-7 sensor-8", "two of them"),
            ("producers describe readings sensor-7 --json", "for a program that starts again"),
        ],
        run=_describe,
    )
    action.add_argument("topic", metavar="TOPIC", help="topic with kawal.dedup=seqno")
    action.add_argument("producer", metavar="NAME", nargs="*", help="kawal-producer-id; none: all")
    action.add_argument("--json", action="store_true", help="print a JSON list")
    add_bootstrap(action)


def _describe(arguments: argparse.Namespace) -> int:
    names = [name.encode() for name in arguments.producer] or None
    answer = ask(arguments.bootstrap, KawalProducersRequest(topic=arguments.topic, names=names))
    check(answer.error_code, answer.error_message, arguments.topic)
    known = {producer.name: _row(producer) for producer in answer.producers}
    rows = [known[name] for name in sorted(known)]
    if names is not None:
        rows = [known.get(name) or _unknown(name) for name in names]
    if arguments.json:
        print(json.dumps(rows, indent=2))
    elif not rows:
        print(f"topic {arguments.topic} remembers no producers")
    else:
        print(table(list(HEADINGS.values()), [[row[name] for name in HEADINGS] for row in rows]))
    return told_of(answer.silent_nodes)


def _shown(name: bytes) -> str:
    return escaped(name.decode("utf-8", "backslashreplace"))


def _row(producer: NamedProducer) -> dict[str, Any]:
    written = datetime.fromtimestamp(producer.written_ms / 1000, tz=UTC)
    return {
        "producer": _shown(producer.name),
        "partition": producer.partition,
        "last_seqno": None if producer.last_seqno < 0 else producer.last_seqno,
        "open_seqno": None if producer.open_seqno < 0 else producer.open_seqno,
        "written": written.isoformat(timespec="milliseconds"),
    }


def _unknown(name: bytes) -> dict[str, Any]:
    return {"producer": _shown(name), **dict.fromkeys(("partition", "last_seqno", "open_seqno", "written"))}
