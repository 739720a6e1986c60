"""`kawal consume`: print the records of a topic."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from console.client import add_bootstrap, consumer_client, listen_for_trouble
from console.errors import OK, CommandError, UsageError
from console.help import describe
from console.positions import (
    LATEST,
    Position,
    end_offsets,
    extents_of,
    first_offsets,
    parse_position,
)
from console.reader import Reader, pipe_is_closed
from console.record_formats import TextFormat, dump_json, text_option

if TYPE_CHECKING:
    from kafka import KafkaConsumer
    from kafka.structs import TopicPartition


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    describe(
        parser,
        """Print the records of a topic, by default all that are there now, from the earliest on.  No
        consumer group is used and nothing is committed.  Values are printed as they are, with a line end
        after each; --json loses nothing and can be fed to 'kawal produce --json'.

        A position is earliest, latest, an offset, -N (N records before the end), a time such as
        2024-05-01T12:00:00Z or @MILLISECONDS.""",
        [
            ("consume orders", "everything that is there"),
            ("consume orders --from -10 --follow", "the last ten of each partition, then what comes"),
            ("consume orders --from 2024-05-01 --until 2024-05-02 --json", "one day, as JSON lines"),
            ("consume orders --partition 0 --from 42 --max-messages 1", "one record"),
        ],
    )
    parser.add_argument("topic", metavar="TOPIC", help="what to read")
    add_bootstrap(parser)
    parser.add_argument("--from", dest="start", metavar="POSITION", default="earliest", help="where to begin")
    parser.add_argument("--until", metavar="POSITION", help="where to stop, excluding that record")
    parser.add_argument("--follow", "-f", action="store_true", help="wait for new records until Ctrl-C")
    parser.add_argument(
        "--partition",
        "-p",
        metavar="N",
        type=int,
        action="append",
        help="read this partition only; repeatable",
    )
    parser.add_argument("--max-messages", "-n", metavar="N", type=int, help="stop after N records")
    parser.add_argument("--json", action="store_true", help="one JSON object a line, with everything in it")
    parser.add_argument("--key-separator", metavar="TEXT", help="print KEY TEXT VALUE (\\t is a tab)")
    parser.add_argument("--delimiter", metavar="TEXT", default="\\n", help="print this after each record")
    parser.add_argument("--null", metavar="TEXT", help="print this for a null key or value")
    parser.add_argument(
        "--read-committed", action="store_true", help="leave out records of aborted transactions"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the records.  Raises: CommandError."""
    _check(arguments)
    start = parse_position(arguments.start, "--from")
    until = parse_position(arguments.until, "--until") if arguments.until else LATEST
    dump = dump_json if arguments.json else _text_format(arguments).dump
    trouble = listen_for_trouble()
    with consumer_client(
        arguments.bootstrap,
        isolation_level="read_committed" if arguments.read_committed else "read_uncommitted",
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=8 << 20,
        max_poll_records=2_000,
    ) as consumer:
        partitions = _partitions(consumer, arguments)
        bounds = _begin(consumer, partitions, start, None if arguments.follow else until)
        Reader(
            consumer,
            bounds=bounds,
            records_left=arguments.max_messages,
            write=lambda record: sys.stdout.buffer.write(dump(record)),
            flush=sys.stdout.buffer.flush,
            output_closed=lambda: pipe_is_closed(sys.stdout.fileno()),
            trouble=trouble,
            bootstrap=arguments.bootstrap,
        ).run()
    return OK


def _check(arguments: argparse.Namespace) -> None:
    if arguments.follow and arguments.until:
        raise UsageError("--follow has no end and --until sets one; give one of them")
    if arguments.max_messages is not None and arguments.max_messages < 1:
        raise UsageError("--max-messages must be at least 1")


def _text_format(arguments: argparse.Namespace) -> TextFormat:
    separator = arguments.key_separator
    return TextFormat(
        delimiter=text_option(arguments.delimiter, "--delimiter"),
        key_separator=None if separator is None else text_option(separator, "--key-separator"),
        null=None if arguments.null is None else arguments.null.encode("utf-8", "surrogateescape"),
    )


def _partitions(consumer: KafkaConsumer, arguments: argparse.Namespace) -> list[TopicPartition]:
    """Return the partitions to read.  Raises: CommandError when the topic or one of them does not exist."""
    from kafka.structs import TopicPartition

    try:
        known = consumer.partitions_for_topic(arguments.topic)
    except ValueError as error:  # kafka-python checks the name itself
        raise CommandError(str(error)) from error
    if not known:
        raise CommandError(_no_topic(arguments.topic, consumer.topics(), arguments.bootstrap))
    for number in arguments.partition or ():
        if number not in known:
            raise CommandError(f"{arguments.topic!r} has partitions 0 to {max(known)}; there is no {number}")
    return [TopicPartition(arguments.topic, number) for number in sorted(set(arguments.partition or known))]


def _no_topic(topic: str, known: set[str], bootstrap: str) -> str:
    import difflib  # only to word the mistake

    close = difflib.get_close_matches(topic, sorted(known), n=1)
    hint = f"did you mean {close[0]!r}?" if close else "'kawal topics list' shows those that exist"
    return f"topic {topic!r} does not exist at {bootstrap}; {hint}"


def _begin(
    consumer: KafkaConsumer, partitions: list[TopicPartition], start: Position, until: Position | None
) -> dict[TopicPartition, int] | None:
    """Place the consumer at `start`; return the offset to stop before in each partition, None for no end."""
    extents = extents_of(partitions, consumer)
    begins = first_offsets(start, extents, consumer)
    bounds = None if until is None else end_offsets(until, extents, consumer)
    consumer.assign(partitions)
    for partition, offset in begins.items():
        consumer.seek(partition, offset)
        if bounds is not None and offset >= bounds[partition]:
            consumer.pause(partition)
            bounds.pop(partition)
    return bounds
