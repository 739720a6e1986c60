"""`kawal produce`: send records read from standard input or files."""

from __future__ import annotations

import argparse
import sys
from collections import Counter, deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from console.client import add_bootstrap, explained, listen_for_trouble, producer_client
from console.errors import OK, CommandError, UsageError
from console.help import describe
from console.record_formats import (
    OutgoingRecord,
    TextFormat,
    header_option,
    load_json,
    split_records,
    text_option,
)

if TYPE_CHECKING:
    from kafka import KafkaProducer

IN_FLIGHT_MAX = 10_000
"""Records sent and not yet answered; bounds memory when the input is faster than the broker."""
DELIVERY_MS = 30_000
"""The time a record may take, with retries, before it counts as not stored."""
REQUEST_BYTES_MAX = 100 << 20
"""The producer itself refuses nothing smaller: the topic's max.message.bytes is the broker's to enforce."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    describe(
        parser,
        """Send records to a topic: each line of standard input, or each file named as a whole, is one.  The
        command ends with 0 only when every record is stored as --acks asks; the summary goes to standard
        error.

        With --json each line is an object with value and, if wanted, key, headers, partition and timestamp;
        value_base64 and key_base64 carry bytes that are not text.""",
        [
            ("produce orders < orders.txt", "one record for each line"),
            ("produce orders --key-separator '\\t' --codec zstd < orders.tsv", "key, tab, value; compressed"),
            ("produce orders --json < orders.jsonl", "everything under control, as consume --json prints it"),
            ("produce pictures cat.png dog.png --key animals", "two records, one for each file"),
        ],
    )
    parser.add_argument("topic", metavar="TOPIC", help="where to send")
    parser.add_argument("files", metavar="FILE", nargs="*", help="send each file as one record")
    add_bootstrap(parser)
    parser.add_argument("--json", action="store_true", help="each line is a JSON object")
    parser.add_argument("--key", metavar="TEXT", help="key of every record")
    parser.add_argument("--key-separator", metavar="TEXT", help="each line is KEY TEXT VALUE (\\t is a tab)")
    parser.add_argument("--delimiter", metavar="TEXT", default="\\n", help="what ends a record (default \\n)")
    parser.add_argument("--null", metavar="TEXT", help="a key or value that is TEXT means null")
    parser.add_argument(
        "--header",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="header of every record; repeatable",
    )
    parser.add_argument("--partition", "-p", metavar="N", type=int, help="send to this partition")
    parser.add_argument(
        "--codec",
        choices=("none", "gzip", "snappy", "lz4", "zstd"),
        default="none",
        help="how batches are compressed",
    )
    parser.add_argument(
        "--acks",
        choices=("all", "1", "0"),
        default="all",
        help="answer after storing, after receiving, never",
    )


def run(arguments: argparse.Namespace) -> int:
    """Send the records.  Raises: CommandError when one was not stored."""
    _check(arguments)
    records = _records(arguments)
    listen_for_trouble()
    with producer_client(
        arguments.bootstrap,
        acks={"all": "all", "1": 1, "0": 0}[arguments.acks],
        enable_idempotence=arguments.acks == "all",
        compression_type=None if arguments.codec == "none" else arguments.codec,
        linger_ms=10,
        batch_size=256 << 10,
        max_request_size=REQUEST_BYTES_MAX,
        max_block_ms=DELIVERY_MS // 2,
        delivery_timeout_ms=DELIVERY_MS,
    ) as producer:
        _check_topic(producer, arguments)
        sender = _Sender(producer, arguments.topic)
        try:
            for record in records:
                sender.send(record)
        except CommandError as error:
            sender.finish()
            raise CommandError(f"{error} ({sender.stored} records before it were stored)") from error
        sender.finish()
    print(sender.summary(), file=sys.stderr)
    return OK


def _check(arguments: argparse.Namespace) -> None:
    if arguments.json and (arguments.key_separator is not None or arguments.files):
        raise UsageError("--json reads objects from standard input; leave out --key-separator and files")
    if arguments.key is not None and arguments.key_separator is not None:
        raise UsageError("--key and --key-separator both say what the key is; give one of them")


def _records(arguments: argparse.Namespace) -> Iterator[OutgoingRecord]:
    headers = [header_option(text) for text in arguments.header]
    key = None if arguments.key is None else arguments.key.encode("utf-8", "surrogateescape")
    separator = arguments.key_separator
    text = TextFormat(
        delimiter=text_option(arguments.delimiter, "--delimiter"),
        key_separator=None if separator is None else text_option(separator, "--key-separator"),
        null=None if arguments.null is None else arguments.null.encode("utf-8", "surrogateescape"),
    )

    def completed() -> Iterator[OutgoingRecord]:
        for record in _inputs(arguments, text):
            record.headers = [*headers, *record.headers]
            record.key = key if record.key is None else record.key
            record.partition = arguments.partition if record.partition is None else record.partition
            yield record

    return completed()


def _inputs(arguments: argparse.Namespace, text: TextFormat) -> Iterator[OutgoingRecord]:
    for path in arguments.files:
        try:
            with open(path, "rb") as stream:
                yield OutgoingRecord(stream.read())
        except OSError as error:
            raise CommandError(f"cannot read {path}: {error.strerror}") from error
    if arguments.files:
        return
    for number, piece in enumerate(split_records(sys.stdin.buffer, text.delimiter), start=1):
        where = f"record {number} of the input"
        if not arguments.json:
            yield text.load(piece, where)
        elif piece.strip():
            yield load_json(piece, where)


def _check_topic(producer: KafkaProducer, arguments: argparse.Namespace) -> None:
    """Wait for the topic, which the broker may create now.  Raises: CommandError."""
    try:
        known = producer.partitions_for(arguments.topic)
    except ValueError as error:  # kafka-python checks the name itself
        raise CommandError(str(error)) from error
    if not known:
        raise CommandError(f"topic {arguments.topic!r} does not exist and is not created automatically")
    if arguments.partition is not None and arguments.partition not in known:
        raise CommandError(
            f"{arguments.topic!r} has partitions 0 to {max(known)}; there is no {arguments.partition}"
        )


class _Sender:
    """A sender that keeps a bounded number of records unanswered and counts those that were stored."""

    def __init__(self, producer: KafkaProducer, topic: str) -> None:
        self._producer = producer
        self._topic = topic
        self._unanswered: deque[Any] = deque()
        self._stored_in: Counter[int] = Counter()
        self._sent = 0

    @property
    def stored(self) -> int:
        """The number of records stored, as far as --acks tells."""
        return self._stored_in.total()

    def send(self, record: OutgoingRecord) -> None:
        """Hand one record to the producer.  Raises: CommandError when it, or an earlier one, failed."""
        self._sent += 1
        try:
            future = self._producer.send(
                self._topic,
                value=record.value,
                key=record.key,
                headers=record.headers,
                partition=record.partition,
                timestamp_ms=record.timestamp_ms,
            )
        except (AssertionError, TypeError, ValueError) as error:  # kafka-python checks its arguments
            raise CommandError(f"record {self._sent} cannot be sent: {error}") from error
        self._unanswered.append(future)
        while self._unanswered and (self._unanswered[0].is_done or len(self._unanswered) > IN_FLIGHT_MAX):
            self._take()

    def finish(self) -> None:
        """Wait until everything is answered.  Raises: CommandError for the first record that failed."""
        self._producer.flush()
        while self._unanswered:
            self._take()

    def summary(self) -> str:
        """Say how many records went where."""
        parts = ", ".join(f"partition {number}: {count}" for number, count in sorted(self._stored_in.items()))
        total = self.stored
        return f"produced {total} record{'' if total == 1 else 's'} to {self._topic!r} ({parts or 'none'})"

    def _take(self) -> None:
        from kafka.errors import KafkaError

        try:
            metadata = self._unanswered.popleft().get(timeout=2 * DELIVERY_MS / 1000)
        except KafkaError as error:
            self._unanswered.clear()
            raise CommandError(f"a record was not stored in {self._topic!r}: {explained(error)}") from error
        self._stored_in[metadata.partition] += 1
