"""`kawal produce`: send records read from standard input or files."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress

from console.batch_sender import ALL, BatchSender
from console.client import add_bootstrap
from console.errors import OK, CommandError, Interrupted, UsageError
from console.help import describe, int32
from console.record_formats import (
    OutgoingColumns,
    OutgoingRecord,
    TextFormat,
    header_option,
    split_records,
    text_option,
)
from protocol.compression import Codec
from protocol.record_reader import Headers

Outgoing = list[OutgoingRecord] | OutgoingColumns


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    describe(
        parser,
        """Send records to a topic: each line of standard input, or each file named as a whole, is one.  The
        command ends with 0 only when every record is stored as --acks asks; the summary goes to standard
        error.  Ctrl-C ends it with the number of records that are stored.

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
    parser.add_argument("--partition", "-p", metavar="N", type=int32, help="send to this partition")
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
    sender = BatchSender(
        arguments.bootstrap,
        arguments.topic,
        acks={"all": ALL, "1": 1, "0": 0}[arguments.acks],
        codec=Codec[arguments.codec.upper()],
    )
    try:
        known = sender.open()
        if arguments.partition is not None and arguments.partition not in known:
            raise CommandError(
                f"{arguments.topic!r} has partitions 0 to {max(known)}; there is no {arguments.partition}"
            )
        _send_all(arguments.topic, records, sender)
    finally:
        sender.close()
    print(_summary(sender.stored_in, arguments.topic), file=sys.stderr)
    return OK


def _send_all(topic: str, records: Iterator[Outgoing], sender: BatchSender) -> None:
    """Send what is read, as soon as it is read.  Raises: CommandError saying how many were stored."""
    try:
        for together in records:
            if isinstance(together, OutgoingColumns):
                sender.add_all(together)
            else:
                for record in together:
                    sender.add(record)
            sender.ship()
        sender.finish()
    except CommandError as error:
        _finish(sender)
        raise CommandError(f"{error} ({sender.stored_in.total()} records were stored)") from error
    except KeyboardInterrupt:
        _finish(sender)
        raise Interrupted(
            f"interrupted; {sender.stored_in.total()} records are stored in {topic!r}"
        ) from None


def _finish(sender: BatchSender) -> None:
    """Count what was sent before the failure and is stored; a second failure adds nothing to say."""
    with suppress(CommandError):
        sender.finish()


def _summary(stored_in: Counter[int], topic: str) -> str:
    """Say how many records went where."""
    parts = ", ".join(f"partition {number}: {count}" for number, count in sorted(stored_in.items()))
    total = stored_in.total()
    return f"produced {total} record{'' if total == 1 else 's'} to {topic!r} ({parts or 'none'})"


def _check(arguments: argparse.Namespace) -> None:
    if arguments.json and (arguments.key_separator is not None or arguments.files):
        raise UsageError("--json reads objects from standard input; leave out --key-separator and files")
    if arguments.key is not None and arguments.key_separator is not None:
        raise UsageError("--key and --key-separator both say what the key is; give one of them")


def _records(arguments: argparse.Namespace) -> Iterator[Outgoing]:
    """Yield the records, those together that were read together.  Raises: CommandError."""
    headers = tuple(header_option(text) for text in arguments.header)
    key = None if arguments.key is None else arguments.key.encode("utf-8", "surrogateescape")
    separator = arguments.key_separator
    text = TextFormat(
        delimiter=text_option(arguments.delimiter, "--delimiter"),
        key_separator=None if separator is None else text_option(separator, "--key-separator"),
        null=None if arguments.null is None else arguments.null.encode("utf-8", "surrogateescape"),
    )

    def completed() -> Iterator[Outgoing]:
        for records in _inputs(arguments, text):
            if isinstance(records, OutgoingColumns):
                _complete(records, headers, key, arguments.partition)
                yield records
                continue
            for record in records:
                record.headers = [*headers, *record.headers]
                record.key = key if record.key is None else record.key
                record.partition = arguments.partition if record.partition is None else record.partition
            yield records

    return completed()


def _complete(records: OutgoingColumns, headers: Headers, key: bytes | None, partition: int | None) -> None:
    """Give records what they have not of their own."""
    count = len(records.values)
    records.headers = headers
    if key is not None:
        records.keys = [key if own is None else own for own in records.keys or [None] * count]
    if partition is not None:
        records.partitions = [
            partition if own is None else own for own in records.partitions or [None] * count
        ]


def _inputs(arguments: argparse.Namespace, text: TextFormat) -> Iterator[Outgoing]:
    for path in arguments.files:
        try:
            with open(path, "rb") as stream:
                yield [OutgoingRecord(stream.read())]
        except OSError as error:
            raise CommandError(f"cannot read {path}: {error.strerror}") from error
    if arguments.files:
        return
    load: Callable[[list[bytes], int], Outgoing] = text.load
    if arguments.json:
        from console.json_records import load_lines as load  # and msgspec, which text does not need
    count = 0
    for pieces in split_records(sys.stdin.buffer, text.delimiter):
        yield load(pieces, count + 1)
        count += len(pieces)
