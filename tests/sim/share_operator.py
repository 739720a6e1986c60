"""The operator of simulated share groups: deletes records, resets and deletes progress and whole groups.

Progress is changed while the members of a group stay away; one thing is done at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.sim.clients import Link
from tests.sim.share_history import Seat, ShareHistory
from tests.sim.share_member import ShareMember
from tests.sim.world import World


class Operator:
    """One operator; `bounds(partition)` returns log start and high watermark."""

    def __init__(
        self,
        world: World,
        history: ShareHistory,
        chance: Random,
        topic: str,
        members: Sequence[ShareMember],
        bounds: Callable[[int], tuple[int, int]],
    ) -> None:
        self.world = world
        self.history = history
        self.chance = chance
        self.topic = topic
        self.members = members
        self._bounds = bounds
        self.letters_topic = ""
        """The topic that it makes read-only at times."""
        self._group: str | None = None
        self._is_busy = False
        self._link: Link | None = None

    def step(self) -> str:
        """Do the next thing."""
        if self._is_busy:
            return "waits"
        if self._group is not None:
            return self._change_progress(self._group)
        act = self.chance.choice((self._delete_records, self._send_away, self._lock_letters))
        return act()

    def end(self) -> None:
        """Let all members come back, and dead letters be written."""
        self._group = None
        for member in self.members:
            member.is_away = False
        if self.letters_topic:
            self._send(self._locking("false"), 1, lambda _answer: None)

    def _send(self, request: Any, version: int, done: Callable[[Any], None]) -> None:
        if self._link is None or not self._link.is_open:
            self._link = Link(self.world)
        self._is_busy = True

        def answered(answer: Any) -> None:
            self._is_busy = False
            done(answer)

        self._link.send(request, version, answered)

    # --- records and letters --------------------------------------------------------------------------------

    def _delete_records(self) -> str:
        index = self.chance.randrange(2)
        first, end = self._bounds(index)
        offset = self.chance.randint(first, max(first, (first + end) // 2))
        partition = DeleteRecordsPartition(partition_index=index, offset=offset)
        topic = DeleteRecordsTopic(name=self.topic, partitions=[partition])

        def done(answer: Any) -> None:
            if answer is not None:
                (found,) = answer.topics[0].partitions
                if not found.error_code:
                    self.history.records_deleted(index, found.low_watermark)

        self._send(DeleteRecordsRequest(topics=[topic], timeout_ms=1_000), 2, done)
        return f"deletes records of {index} below {offset}"

    def _lock_letters(self) -> str:
        if not self.letters_topic:
            return "idle"
        value = self.chance.choice(("true", "false", "false"))
        self._send(self._locking(value), 1, lambda _answer: None)
        return f"sets {self.letters_topic} read-only: {value}"

    def _locking(self, value: str) -> IncrementalAlterConfigsRequest:
        config = AlterableConfig(name="kawal.read.only", config_operation=0, value=value)
        resource = AlterConfigsResource(resource_type=2, resource_name=self.letters_topic, configs=[config])
        return IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)

    # --- progress -------------------------------------------------------------------------------------------

    def _send_away(self) -> str:
        self._group = self.chance.choice(sorted({member.group for member in self.members}))
        for member in self._of_group(self._group):
            member.is_away = True
        return f"sends the members of {self._group} away"

    def _of_group(self, group: str) -> list[ShareMember]:
        return [member for member in self.members if member.group == group]

    def _change_progress(self, group: str) -> str:
        members = self._of_group(group)
        # An impatient one is refused, as the group has members.
        if any(member.epoch or member.is_waiting for member in members) and self.chance.random() < 0.9:
            return f"waits for the members of {group}"
        act = self.chance.choice((self._reset, self._reset, self._reset, self._forget, self._delete_group))
        self._group = None
        return act(group)

    def _reset(self, group: str) -> str:
        index = self.chance.randrange(2)
        seat = (group, index)
        first, end = self._bounds(index)
        start = self.chance.randint(first, end)
        partition = AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=start)
        topic = AlterShareGroupOffsetsRequestTopic(topic_name=self.topic, partitions=[partition])
        request = AlterShareGroupOffsetsRequest(group_id=group, topics=[topic])

        def done(answer: Any) -> None:
            if answer is None:
                self.history.may_begin(seat, start)
                self.history.reset_ends(seat, None)
            else:
                codes = [
                    answer.error_code,
                    *(part.error_code for of in answer.responses for part in of.partitions),
                ]
                self.history.reset_ends(seat, None if any(codes) else start)
            self._welcome(group)

        self.history.reset_begins(seat)
        self._send(request, 0, done)
        return f"resets {seat} to {start}"

    def _forget(self, group: str) -> str:
        topic = DeleteShareGroupOffsetsRequestTopic(topic_name=self.topic)
        request = DeleteShareGroupOffsetsRequest(group_id=group, topics=[topic])

        def codes(answer: Any) -> list[int]:
            return [answer.error_code, *(of.error_code for of in answer.responses)]

        self._delete(group, request, 0, codes)
        return f"deletes the progress of {group}"

    def _delete_group(self, group: str) -> str:
        request = DeleteGroupsRequest(groups_names=[group])
        self._delete(group, request, 2, lambda answer: [found.error_code for found in answer.results])
        return f"deletes {group}"

    def _delete(self, group: str, request: Any, version: int, codes: Callable[[Any], list[int]]) -> None:
        seats: list[Seat] = [seat for seat in self.history.facts if seat[0] == group]

        def done(answer: Any) -> None:
            is_done = answer is not None and not any(codes(answer))
            for seat in seats:
                self.history.reset_ends(seat, 0 if is_done else None)
            self._welcome(group)

        for seat in seats:
            self.history.reset_begins(seat)
        self._send(request, version, done)

    def _welcome(self, group: str) -> None:
        for member in self._of_group(group):
            member.is_away = False
