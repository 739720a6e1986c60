r"""The new offsets of a group: the arguments of `kawal groups reset-offsets` and their meaning.

--to POSITION        earliest, latest, an offset, a time: see console/positions.py; -10 is ten before the end
--shift-by N         N records on (back when negative) from the committed offset
--by-duration D      the first record not older than D ago: 90s, 15m, 1h30m, 7d
--from-file FILE     lines TOPIC,PARTITION,OFFSET, as --json's `new` or kafka-consumer-groups export them

An offset beyond what a partition holds becomes its nearest end, as with Kafka's own tool.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from console.errors import CommandError, UsageError
from console.help import int64
from console.positions import Extent, Position, PositionKind, end_offsets, parse_position

Place = tuple[str, int]
"""Topic and partition."""

_UNITS_S = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}


@dataclass(frozen=True, slots=True)
class Move:
    """The change of one committed offset; a `current` of None: nothing was committed."""

    topic: str
    partition: int
    current: int | None
    new: int


def add_target(parser: argparse.ArgumentParser) -> None:
    """Declare the ways to name the new offsets; exactly one must be given."""
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument(
        "--to", metavar="POSITION", help="earliest, latest, an offset, a time, -N before the end"
    )
    target.add_argument("--shift-by", metavar="N", type=int64, help="N records on; back when negative")
    target.add_argument("--by-duration", metavar="D", help="back to records of D ago: 90s, 15m, 1h30m, 7d")
    target.add_argument("--from-file", metavar="FILE", type=Path, help="lines TOPIC,PARTITION,OFFSET")


def parse_duration_s(text: str) -> int:
    """Read 1h30m and the like as seconds.  Raises: UsageError."""
    if not re.fullmatch(r"(?:[0-9]{1,9}[dhms])+", text):
        raise UsageError(f"--by-duration {text!r} is not a duration; write it as 90s, 15m, 1h30m or 7d")
    return sum(int(count) * _UNITS_S[unit] for count, unit in re.findall(r"([0-9]+)([dhms])", text))


def parse_topics(texts: Iterable[str]) -> dict[str, set[int] | None]:
    """Read `--topic TOPIC[:P,P…]`: the partitions of each topic, None for all.  Raises: UsageError."""
    found: dict[str, set[int] | None] = {}
    for text in texts:
        name, colon, list_ = text.partition(":")
        if not name or (colon and not re.fullmatch(r"[0-9]+(?:,[0-9]+)*", list_)):
            raise UsageError(f"--topic {text!r} is neither TOPIC nor TOPIC:PARTITION,PARTITION…")
        found[name] = {int(number) for number in list_.split(",")} if colon else None
    return found


def read_offsets(path: Path) -> dict[Place, int]:
    """Read --from-file.  Raises: CommandError naming the line."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path}: cannot be read: {error}") from error
    found: dict[Place, int] = {}
    for number, line in enumerate(lines, start=1):
        parts = [part.strip().strip('"') for part in line.split(",")]
        if parts == [""]:
            continue
        if len(parts) != 3 or not (parts[1].isdigit() and parts[2].isdigit()):
            raise CommandError(f"{path}, line {number}: {line!r} is not TOPIC,PARTITION,OFFSET")
        found[parts[0], int(parts[1])] = int(parts[2])
    return found


def moves(
    arguments: argparse.Namespace,
    current: Mapping[Any, int | None],
    extents: Mapping[Any, Extent],
    consumer: Any,
) -> list[Move]:
    """Return the changes to the offsets of these partitions; `consumer` looks up times.

    Raises: UsageError, CommandError.
    """
    wanted = _wanted(arguments, current, extents, consumer)
    return [
        Move(place.topic, place.partition, current[place], _held(wanted[place], extents[place]))
        for place in sorted(current)
        if place in wanted
    ]


def _wanted(
    arguments: argparse.Namespace,
    current: Mapping[Any, int | None],
    extents: Mapping[Any, Extent],
    consumer: Any,
) -> dict[Any, int]:
    if arguments.from_file is not None:
        offsets = read_offsets(arguments.from_file)
        return {place: offsets[place.topic, place.partition] for place in current if tuple(place) in offsets}
    if arguments.shift_by is not None:
        missing = [f"{place.topic}-{place.partition}" for place, offset in current.items() if offset is None]
        if missing:
            raise CommandError(
                f"nothing is committed in {', '.join(missing[:5])}, so there is nothing to shift; use --to"
            )
        return {place: offset + arguments.shift_by for place, offset in current.items() if offset is not None}
    return end_offsets(_position(arguments), extents, consumer)


def _position(arguments: argparse.Namespace) -> Position:
    if arguments.by_duration is not None:
        since_ms = round((time.time() - parse_duration_s(arguments.by_duration)) * 1000)
        return Position(PositionKind.TIME, since_ms)
    return parse_position(arguments.to, "--to")


def _held(offset: int, extent: Extent) -> int:
    return min(max(offset, extent.start), extent.end)
