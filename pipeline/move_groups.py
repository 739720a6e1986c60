"""`kawal pipe move-groups`: the progress of consumer groups, carried over to the target of a copy.

A group that has read up to an offset of a source topic continues on the target at the record that was copied
from there, exactly: the offset map has the place of every record. Nothing is read twice or left out, except
what a group has read without committing it, as after any restart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TextIO

from pipeline.config import Job
from pipeline.copy_state import opened_copy
from pipeline.errors import DONE, FAILED, SourceError, TargetError
from pipeline.offset_map import maps_of
from pipeline.positions import Positions
from pipeline.sinks.patience import when_ready
from pipeline.sinks.topic_writer import SECONDS, Place, position_reader
from pipeline.sinks.topics import source_client, target_client


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """The progress of one group in one partition, on both sides; `target` is None where it is not known."""

    group: str
    topic: str
    partition: int
    source: int
    target_topic: str
    target: int | None


def move_groups(job: Job, groups: list[str], out: TextIO, *, apply: bool) -> int:
    """Print where `groups` continue on the target, and commit that there if `apply` says so.

    FAILED when a partition cannot be moved.  Raises: SourceError, TargetError.
    """
    copy = opened_copy(job)
    maps = maps_of(copy.copied)
    moves = [move for group in groups for move in _moves(job, group, maps)]
    for move in moves:
        where = f"offset {move.target:,}" if move.target is not None else "UNKNOWN: not copied, or not yet"
        print(
            f"  {move.group}  {move.topic}-{move.partition} offset {move.source:,} -> "
            f"{move.target_topic}-{move.partition} {where}",
            file=out,
        )
    known = [move for move in moves if move.target is not None]
    if apply:
        for group in groups:
            _commit(job, group, [move for move in known if move.group == group])
        print(f"{job.name}: {len(known)} positions committed on {job.target_bootstrap}", file=out)
    else:
        print(f"{job.name}: nothing is committed; --apply does it", file=out)
    return DONE if len(known) == len(moves) else FAILED


def _moves(job: Job, group: str, maps: dict[Place, Any]) -> list[Move]:
    found = _committed(job, group, sorted(maps))
    if not found:
        raise SourceError(
            f"the group {group!r} has committed nothing of {', '.join(job.source.topics)} on "
            f"{job.source.bootstrap}"
        )
    return [
        Move(
            group=group,
            topic=topic,
            partition=int(partition),
            source=offset,
            target_topic=job.target_topic(topic),
            target=maps[topic, int(partition)].target_of(offset),
        )
        for topic, partitions in found.items()
        for partition, offset in partitions.items()
    ]


def _committed(job: Job, group: str, places: list[Place]) -> Positions:
    from confluent_kafka import KafkaException, TopicPartition

    reader = position_reader(source_client(job), group)
    try:
        wanted = [TopicPartition(*place) for place in places]
        asked = (
            when_ready(lambda: reader.committed(wanted, SECONDS), within_seconds=SECONDS) if wanted else []
        )
    except KafkaException as error:
        raise SourceError(f"{job.source.bootstrap} refused: {error.args[0].str()}") from error
    finally:
        reader.close()
    found: Positions = {}
    for place in asked:
        if place.offset >= 0:
            found.setdefault(place.topic, {})[str(place.partition)] = place.offset
    return found


def _commit(job: Job, group: str, moves: list[Move]) -> None:
    from confluent_kafka import KafkaException, TopicPartition

    if not moves:
        return
    committer = position_reader(target_client(job), group)
    offsets = [TopicPartition(move.target_topic, move.partition, move.target) for move in moves]
    try:
        when_ready(lambda: committer.commit(offsets=offsets, asynchronous=False), within_seconds=SECONDS)
    except KafkaException as error:
        raise TargetError(
            f"the positions of the group {group!r} were not committed on {job.target_bootstrap}: "
            f"{error.args[0].str()}; its consumers there must be stopped"
        ) from error
    finally:
        committer.close()
