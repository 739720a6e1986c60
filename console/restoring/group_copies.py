"""The groups of a restored database: their settings, and their progress at the same records of the copy.

Offsets of the copy are others, as it has no gaps: a group's offset becomes the number of records of the copy
that lay below it.  So a group goes on with the record that it would have read next.  Views over a topic have
the topic's offsets.  Progress in views whose offsets are versions (over a database, or WITH META) cannot be
told in the copy, and is left out, with the reason; so are groups that have members there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from console import admin
from console.client import refusal
from console.errors import CommandError
from console.sql.session import Session
from protocol.error_codes import ErrorCode
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
)

GROUP: Final = 32
OWN_OF_GROUP: Final = 8
"""The resource type of groups, and the source of a configuration that was set for one.  Source: KIP-1043."""

NOT_YET: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
TRIES: Final = 100
PAUSE_S: Final = 0.1

Place = tuple[str, int]


class Progress(NamedTuple):
    """The progress of a group in one partition."""

    offset: int
    metadata: str


def progress_of(session: Session, group_id: str) -> dict[Place, Progress]:
    """Return what a group has committed, by topic and partition.  Raises: CommandError."""
    asked = OffsetFetchRequestGroup(group_id=group_id, topics=None)
    request = OffsetFetchRequest(groups=[asked], require_stable=True)

    def ask() -> tuple[int, Any]:
        (answer,) = session.ask(request, 9).groups
        return answer.error_code, answer

    answer = _patiently(ask, f"group {group_id!r}")
    return {
        (topic.name, partition.partition_index): Progress(
            partition.committed_offset, partition.metadata or ""
        )
        for topic in answer.topics
        for partition in topic.partitions
        if not partition.error_code and partition.committed_offset >= 0
    }


def _settings_of(session: Session, group_id: str) -> dict[str, str]:
    asked = DescribeConfigsResource(resource_type=GROUP, resource_name=group_id, configuration_keys=None)
    answer = session.ask(DescribeConfigsRequest(resources=[asked]), 4).results[0]
    admin.check(answer.error_code, answer.error_message, f"group {group_id!r}")
    return {line.name: line.value or "" for line in answer.configs if line.config_source == OWN_OF_GROUP}


class GroupCopies:
    """The groups whose progress is made again on another server."""

    def __init__(
        self, source: Session, target: Session, offset_of: Callable[[Place, int], int | None]
    ) -> None:
        """Begin without groups.

        `offset_of(place, offset)` returns an offset's equivalent in the copy of a topic or view, or None
        where there is none; it is called for places of the database only.
        """
        self._source = source
        self._target = target
        self._offset_of = offset_of
        self.made: list[str] = []
        self.left_out: dict[str, str] = {}
        """Names of groups whose progress was not restored, or not all of it, with the reasons."""

    def make(self, topics: set[str]) -> None:
        """Restore every group with progress in these topics and views, and check it.

        Raises: CommandError.
        """
        request = ListGroupsRequest(states_filter=[], types_filter=[])
        listed = [group for answer in self._source.ask_each(request, 5) for group in answer.groups]
        for group_id in sorted(group.group_id for group in listed):
            found = progress_of(self._source, group_id)
            inside = {place: progress for place, progress in found.items() if place[0] in topics}
            if inside:
                self._make(group_id, inside)

    def _make(self, group_id: str, inside: Mapping[Place, Progress]) -> None:
        wanted: dict[Place, Progress] = {}
        untold = set()
        for place, progress in inside.items():
            offset = self._offset_of(place, progress.offset)
            if offset is None:
                untold.add(place[0])
            else:
                wanted[place] = progress._replace(offset=offset)
        if untold:
            self.left_out[group_id] = f"its offsets in {', '.join(sorted(untold))} are versions of the log"
        if wanted:
            self._write_settings(group_id)
            if self._commit(group_id, wanted):
                self._check(group_id, wanted)
                self.made.append(group_id)

    def _write_settings(self, group_id: str) -> None:
        lines = [
            AlterableConfig(name=name, config_operation=0, value=text)
            for name, text in _settings_of(self._source, group_id).items()
        ]
        if lines:
            resource = AlterConfigsResource(resource_type=GROUP, resource_name=group_id, configs=lines)
            request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
            answer = self._target.ask(request, 1).responses[0]
            admin.check(answer.error_code, answer.error_message, f"group {group_id!r}")

    def _commit(self, group_id: str, wanted: Mapping[Place, Progress]) -> bool:
        """Commit the progress; False if members of the group on the target stand against it."""
        by_topic: dict[str, list[OffsetCommitRequestPartition]] = {}
        for (topic, index), progress in sorted(wanted.items()):
            by_topic.setdefault(topic, []).append(
                OffsetCommitRequestPartition(
                    partition_index=index,
                    committed_offset=progress.offset,
                    committed_metadata=progress.metadata,
                )
            )
        topics = [OffsetCommitRequestTopic(name=name, partitions=parts) for name, parts in by_topic.items()]
        request = OffsetCommitRequest(group_id=group_id, member_id="", topics=topics)
        # The topic of the offsets is created by the first search for a coordinator.
        self._target.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[group_id]), 4)
        refusals = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.REBALANCE_IN_PROGRESS)

        def ask() -> tuple[int, int]:
            answer = self._target.ask(request, 8)
            codes = [part.error_code for topic in answer.topics for part in topic.partitions]
            code = next((code for code in codes if code), 0)
            return (0 if code in refusals else code), code

        if _patiently(ask, f"group {group_id!r}"):
            self.left_out[group_id] = "it has members on the target"
            return False
        return True

    def _check(self, group_id: str, wanted: Mapping[Place, Progress]) -> None:
        there = progress_of(self._target, group_id)
        for place, progress in wanted.items():
            if there.get(place) != progress:
                raise CommandError(
                    f"group {group_id!r} should go on at {progress.offset} of {place[0]}-{place[1]}, and has"
                    f" {there[place].offset if place in there else 'no progress'} there"
                )


def _patiently(ask: Callable[[], tuple[int, Any]], what: str) -> Any:
    """Ask until the coordinator is there; return the answer.  Raises: CommandError."""
    code, answer = ask()
    for _ in range(TRIES):
        if code not in NOT_YET:
            break
        time.sleep(PAUSE_S)
        code, answer = ask()
    if code:
        raise CommandError(f"{what}: {refusal(code, None)}")
    return answer
