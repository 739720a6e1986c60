r"""The places where reading begins and ends: --from and --until, and their meaning in each partition.

earliest | latest         the first record there is, the end
1234                      that offset
-10                       ten records before the end, in each partition
2024-05-01T12:00:00Z      the first record not older than that (a time without a zone is local time)
@1714564800000            the same in milliseconds since 1970
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from console.errors import CommandError, UsageError


class PositionKind(Enum):
    """The ways to name a place in a partition."""

    EARLIEST = "earliest"
    LATEST = "latest"
    OFFSET = "offset"
    BEFORE_END = "before end"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Position:
    """A place to begin or end; `number` is an offset, a count of records or milliseconds since 1970."""

    kind: PositionKind
    number: int = 0


EARLIEST = Position(PositionKind.EARLIEST)
LATEST = Position(PositionKind.LATEST)


def parse_position(text: str, option: str) -> Position:
    """Read the argument of --from or --until.  Raises: UsageError showing the possible forms."""
    text = text.strip()
    if text in ("earliest", "latest"):
        return EARLIEST if text == "earliest" else LATEST
    if re.fullmatch(r"[0-9]{1,18}", text):
        return Position(PositionKind.OFFSET, int(text))
    if re.fullmatch(r"-[0-9]{1,18}", text):
        return Position(PositionKind.BEFORE_END, int(text[1:]))
    if re.fullmatch(r"@[0-9]{1,18}", text):
        return Position(PositionKind.TIME, int(text[1:]))
    try:
        # astimezone() gives the local zone to a time without one.
        moment = datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, OSError):
        raise UsageError(
            f"{option} {text!r} is not a position; write earliest, latest, an offset (1234), records before "
            "the end (-10), a time (2024-05-01T12:00:00Z) or milliseconds since 1970 (@1714564800000)"
        ) from None
    # Negative times mean other things in Kafka's protocol, and no record is older.
    return Position(PositionKind.TIME, max(round(moment.timestamp() * 1000), 0))


@dataclass(frozen=True, slots=True)
class Extent:
    """The records a partition holds: offsets from `start` up to, not including, `end`."""

    start: int
    end: int


def first_offsets(position: Position, extents: Mapping[Any, Extent], consumer: Any) -> dict[Any, int]:
    """Return the offset to begin at in each partition.

    Raises: CommandError for an offset that a partition does not hold (its end counts as held).
    """
    if position.kind is PositionKind.OFFSET:
        return {partition: _held(position.number, partition, extent) for partition, extent in extents.items()}
    return _offsets(position, extents, consumer)


def end_offsets(position: Position, extents: Mapping[Any, Extent], consumer: Any) -> dict[Any, int]:
    """Return the offset to stop before in each partition: never beyond its current end."""
    return _offsets(position, extents, consumer)


def _offsets(position: Position, extents: Mapping[Any, Extent], consumer: Any) -> dict[Any, int]:
    match position.kind:
        case PositionKind.EARLIEST:
            return {partition: extent.start for partition, extent in extents.items()}
        case PositionKind.LATEST:
            return {partition: extent.end for partition, extent in extents.items()}
        case PositionKind.OFFSET:
            return {partition: min(position.number, extent.end) for partition, extent in extents.items()}
        case PositionKind.BEFORE_END:
            return {
                partition: max(extent.start, extent.end - position.number)
                for partition, extent in extents.items()
            }
        case PositionKind.TIME:
            found = consumer.offsets_for_times(dict.fromkeys(extents, position.number))
            return {
                partition: found[partition].offset if found.get(partition) else extent.end
                for partition, extent in extents.items()
            }


def _held(offset: int, partition: Any, extent: Extent) -> int:
    if not extent.start <= offset <= extent.end:
        raise CommandError(
            f"partition {partition.partition} of {partition.topic!r} holds offsets {extent.start} to "
            f"{extent.end}, not {offset}; use --from earliest, or --partition to choose one"
        )
    return offset


def extents_of(partitions: Sequence[Any], consumer: Any) -> dict[Any, Extent]:
    """Ask the broker what each partition holds now."""
    starts = consumer.beginning_offsets(partitions)
    ends = consumer.end_offsets(partitions)
    return {partition: Extent(starts[partition], ends[partition]) for partition in partitions}
