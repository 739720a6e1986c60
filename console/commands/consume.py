"""`kawal consume`: print the records of a topic."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from console.client import Trouble, add_bootstrap, consumer_client, listen_for_trouble
from console.errors import OK, CommandError, UsageError
from console.fetcher import Fetcher
from console.group_reader import GroupReader
from console.help import describe, int32, int64, utf8
from console.last_records import last_records
from console.positions import (
    LATEST,
    Position,
    PositionKind,
    end_offsets,
    extents_of,
    first_offsets,
    parse_position,
)
from console.reader import Reader, pipe_is_closed
from console.record_formats import TextFormat, text_option
from protocol.record_reader import Record

if TYPE_CHECKING:
    from kafka import KafkaConsumer
    from kafka.structs import TopicPartition


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    describe(
        parser,
        """Print the records of a topic, by default all that are there now, from the earliest on.  Without
        --group no consumer group is used and nothing is committed.  Values are printed as they are, with a
        line end after each; --json loses nothing and can be fed to 'kawal produce --json'.

        A position is earliest, latest, an offset, -N (N records before the end), a time such as
        2024-05-01T12:00:00Z or @MILLISECONDS.

        In a format, %t is the topic, %p the partition, %o the offset, %k the key, %s the value, %K and %S
        their lengths, %T the timestamp in milliseconds, %h the headers; \\n, \\t and \\xHH are bytes.""",
        [
            ("consume orders", "everything that is there"),
            ("consume orders --from -10 --follow", "the last ten of each partition, then what comes"),
            ("consume orders --from 2024-05-01 --until 2024-05-02 --json", "one day, as JSON lines"),
            ("consume orders --partition 0 --from 42 --max-messages 1", "one record"),
            ("consume orders --format '%p %o %k %s\\n'", "partition, offset, key and value"),
            (
                "consume orders --registry http://127.0.0.1:8081",
                "values of JSON Schema, Avro and Protobuf, framed as Confluent's clients do, as JSON",
            ),
            ("consume orders --group billing", "as a member of a group: what is printed is committed"),
        ],
    )
    parser.add_argument("topic", metavar="TOPIC", type=utf8, help="what to read")
    add_bootstrap(parser)
    parser.add_argument(
        "--from", "--since", dest="start", metavar="POSITION", default="earliest", help="where to begin"
    )
    parser.add_argument("--until", metavar="POSITION", help="where to stop, excluding that record")
    parser.add_argument("--follow", "-f", action="store_true", help="wait for new records until Ctrl-C")
    parser.add_argument(
        "--partition",
        "-p",
        metavar="N",
        type=int32,
        action="append",
        help="read this partition only; repeatable",
    )
    parser.add_argument("--max-messages", "-n", metavar="N", type=int64, help="stop after N records")
    parser.add_argument("--json", action="store_true", help="one JSON object a line, with everything in it")
    parser.add_argument("--format", "-F", metavar="FORMAT", help="print each record so, as '%%o %%s\\n'")
    parser.add_argument(
        "--group",
        "-g",
        metavar="GROUP",
        type=utf8,
        help="read as a member of this group and commit what was printed",
    )
    parser.add_argument(
        "--registry", metavar="URL", help="schema registry whose framed keys and values are shown as JSON"
    )
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
    dump = _decoded(arguments.registry, _dump(arguments))
    trouble = listen_for_trouble()
    output = sys.stdout.buffer
    printing: dict[str, Any] = {
        "records_left": arguments.max_messages,
        "write": lambda partition, records: output.write(dump(partition, records)),
        "flush": output.flush,
        "output_closed": lambda: pipe_is_closed(output.fileno()),
    }
    if arguments.group is not None:
        _read_as_group(arguments, start, printing)
    else:
        _read(arguments, start, None if arguments.follow else until, printing, trouble)
    return OK


def _read(
    arguments: argparse.Namespace,
    start: Position,
    until: Position | None,
    printing: dict[str, Any],
    trouble: Trouble,
) -> None:
    """Read from a position on, without a group.  Raises: CommandError."""
    bootstrap = arguments.bootstrap

    def fetch(begins: dict[Any, int], ends: dict[Any, int] | None) -> Fetcher:
        return Fetcher(bootstrap, begins, ends=ends, read_committed=arguments.read_committed, trouble=trouble)

    with consumer_client(bootstrap) as consumer:
        partitions = _partitions(consumer, arguments)
        extents = extents_of(partitions, consumer)
        begins = first_offsets(start, extents, consumer)
        ends = None if until is None else end_offsets(until, extents, consumer)
    if start.kind is PositionKind.BEFORE_END:
        begins = last_records(fetch, extents, start.number, trouble=trouble, bootstrap=bootstrap)
    if ends is not None:
        ends = {partition: end for partition, end in ends.items() if begins[partition] < end}
        begins = {partition: begins[partition] for partition in ends}
    fetcher = fetch(begins, ends)
    try:
        Reader(fetcher, bounds=ends, trouble=trouble, bootstrap=bootstrap, **printing).run()
    finally:
        fetcher.close()


def _read_as_group(arguments: argparse.Namespace, start: Position, printing: dict[str, Any]) -> None:
    """Read as a member of a group, which goes on where it has committed.  Raises: CommandError."""
    from console.kafka_codecs import provide_codecs

    provide_codecs()
    with consumer_client(
        arguments.bootstrap,
        group_id=arguments.group,
        isolation_level="read_committed" if arguments.read_committed else "read_uncommitted",
        auto_offset_reset=start.kind.value,
    ) as consumer:
        _partitions(consumer, arguments)
        consumer.subscribe([arguments.topic])
        GroupReader(consumer, follow=arguments.follow, **printing).run()


def _check(arguments: argparse.Namespace) -> None:
    if arguments.follow and arguments.until:
        raise UsageError("--follow has no end and --until sets one; give one of them")
    if arguments.max_messages is not None and arguments.max_messages < 1:
        raise UsageError("--max-messages must be at least 1")
    if arguments.json and arguments.format is not None:
        raise UsageError("--json and --format both say how records are printed; give one of them")
    if arguments.group is None:
        return
    if not arguments.group:
        raise UsageError("--group must not be empty")
    if arguments.until or arguments.partition:
        raise UsageError("a group is given its partitions and has no end: leave out --partition and --until")
    if arguments.start not in ("earliest", "latest"):
        raise UsageError(
            "with --group, --from is earliest or latest, for where the group has committed nothing; "
            "'kawal groups reset' moves it elsewhere"
        )


def _dump(arguments: argparse.Namespace) -> Callable[[Any, Sequence[Record]], bytes]:
    null = b"" if arguments.null is None else arguments.null.encode("utf-8", "surrogateescape")
    if arguments.json:
        from console.record_lines import dump_json  # and msgspec, which text does not need

        return dump_json
    if arguments.format is not None:
        from console.record_lines import FormatString

        return FormatString(arguments.format, null).dump
    return _text_format(arguments).dump


def _decoded(
    url: str | None, dump: Callable[[Any, Sequence[Record]], bytes]
) -> Callable[[Any, Sequence[Record]], bytes]:
    """Return what prints records whose keys and values are decoded by a schema registry, if there is one."""
    if url is None:
        return dump
    from console.registry import Registry

    decoded = Registry(url).decoded
    return lambda partition, records: dump(
        partition,
        [record._replace(key=decoded(record.key), value=decoded(record.value)) for record in records],
    )


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
