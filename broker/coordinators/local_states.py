"""The states of share groups in partitions that this node leads: made, set and deleted.

The group coordinator may be another node: it asks by KawalShareStates (cluster_states.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import UUID

from broker.catalogue.metadata import Metadata
from broker.config import group_configs
from broker.errors import RequestError
from broker.loop.answers import Awaited
from broker.loop.loop import Loop
from broker.loop.slices import ITEMS_PER_STEP, Offload, Until, WaitingSteps
from broker.storage.partition import Partition
from broker.storage.timestamps import first_steps
from groups.errors import GroupError
from groups.share.state_records import ShareKey
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_share_states import (
    KawalShareStatesRequest,
    KawalShareStatesResponse,
    OutcomesInTopic,
    PlaceItem,
    PlaceOutcome,
    StatesAction,
)
from wal.disk import DiskError
from wal.errors import WalError

if TYPE_CHECKING:
    from broker.catalogue.topic import Topic
    from broker.coordinators.shares import Shares

_DURATION: Final = re.compile(
    r"by_duration:P(?:(?P<days>\d+)D)?"
    r"(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?",
    re.IGNORECASE,
)
_UNITS_MS: Final = {"days": 86_400_000, "hours": 3_600_000, "minutes": 60_000, "seconds": 1_000}

Told = Callable[[ErrorCode], None]


class LocalStates:
    """Changes these states."""

    def __init__(self, metadata: Metadata, loop: Loop, shares: Callable[[], Shares]) -> None:
        """`shares()` returns the share coordinator."""
        self._metadata = metadata
        self._loop = loop
        self._shares = shares

    # --- single states --------------------------------------------------------------------------------------

    def make(self, key: ShareKey, start: int, told: Told) -> None:
        """Have a group begin in a partition, unless it has; `told` when that is durable."""
        now_ms = self._loop.clock.turn_ms
        with self._shares().step(now_ms) as machine:
            try:
                machine.initialize(key, start, told, now_ms)
            except GroupError as error:
                told(error.code)

    def set(self, key: ShareKey, start: int, told: Told) -> None:
        """Have a group go on at an offset; `told` when that is durable."""
        now_ms = self._loop.clock.turn_ms
        with self._shares().step(now_ms) as machine:
            try:
                machine.reset(key, start, told, now_ms)
            except GroupError as error:
                told(error.code)

    def delete(self, group_id: str, topic_ids: Iterable[UUID] | None, told: Told) -> None:
        """Delete a group's states in some topics, or (None) all; `told` when that is durable."""
        now_ms = self._loop.clock.turn_ms
        with self._shares().step(now_ms) as machine:
            try:
                known = machine.all_keys_of(group_id)
            except GroupError as error:
                told(error.code)
                return
            wanted = None if topic_ids is None else set(topic_ids)
            keys = [key for key in known if wanted is None or key.topic_id in wanted]
            done = after_all(len(keys), told)
            for key in keys:
                try:
                    machine.delete(key, done, now_ms)
                except GroupError as error:
                    done(error.code)

    # --- requests -------------------------------------------------------------------------------------------

    def change(self, request: KawalShareStatesRequest) -> WaitingSteps:
        """Return the steps that carry out a request and answer it."""
        answers = Awaited()
        response = KawalShareStatesResponse(topics=[])
        if request.action == StatesAction.DELETE:
            take: Told = answers.expect(lambda code: _note(response, code))
            if self._is_late(request):
                take(ErrorCode.REQUEST_TIMED_OUT)
            else:
                ids = None if request.topics is None else [topic.topic_id for topic in request.topics]
                self.delete(request.group_id, ids, take)
        for topic in request.topics or () if request.action != StatesAction.DELETE else ():
            outcomes = OutcomesInTopic(topic_id=topic.topic_id, partitions=[])
            response.topics.append(outcomes)
            for number, item in enumerate(topic.partitions, start=1):
                outcome = PlaceOutcome(partition_index=item.partition_index)
                outcomes.partitions.append(outcome)
                yield from self._change_one(
                    request, topic.topic_id, item, answers.expect(partial(_note, outcome))
                )
                if not number % ITEMS_PER_STEP:
                    yield None
        yield Until(answers.when_complete)
        return response

    def _is_late(self, request: KawalShareStatesRequest) -> bool:
        """Whether the coordinator no longer waits: it may have gone on to something else."""
        return self._loop.clock.turn_ms >= request.until_ms

    def _change_one(
        self, request: KawalShareStatesRequest, topic_id: UUID, item: PlaceItem, told: Told
    ) -> Generator[Until | None, None, None]:
        key = ShareKey(request.group_id, topic_id, item.partition_index)
        start: int | None
        try:
            if request.action == StatesAction.SET:
                start = self._given(topic_id, item)
            else:
                start = yield from self.start_of(key.group_id, topic_id, item.partition_index)
        except RequestError as error:
            told(error.code)
            return
        except (WalError, DiskError):
            told(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        if start is None:
            told(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        elif self._is_late(request):
            told(ErrorCode.REQUEST_TIMED_OUT)
        elif request.action == StatesAction.SET:
            self.set(key, start, told)
        elif self._shares().room or self._shares().position(key) is not None:
            self.make(key, start, told)
        else:
            told(ErrorCode.COORDINATOR_NOT_AVAILABLE)  # no memory: the next heartbeat orders it again

    def _given(self, topic_id: UUID, item: PlaceItem) -> int | None:
        """Return the offset at which a group is to go on; None if there is no such partition.

        Raises: RequestError.
        """
        topic = self._metadata.catalogue.find_id(topic_id)
        if topic is None:
            return None
        self._metadata.topics.partition(topic, item.partition_index)
        return item.start_offset

    # --- where a group begins -------------------------------------------------------------------------------

    def start_of(
        self, group_id: str, topic_id: UUID, index: int
    ) -> Generator[Until | None, None, int | None]:
        """Return the offset at which a new group begins in a partition; None if there is none.

        Raises: RequestError, WalError, DiskError.
        """
        topic = self._metadata.catalogue.find_id(topic_id)
        if topic is None or index >= topic.partition_count:
            return None
        partition = self._metadata.topics.partition(topic, index)
        if topic.tree is not None and self._has_parent(group_id, topic, index):
            return partition.log_start
        overrides = self._metadata.catalogue.group_configs.get(group_id) or {}
        reset = group_configs.value("share.auto.offset.reset", overrides, self._metadata.live_config.layers)
        assert isinstance(reset, str)
        clock = self._loop.clock
        offset = yield from start_offset(
            partition, reset, clock.wall_ms(clock.turn_ms), self._loop.scheduler.offload
        )
        return offset

    def _has_parent(self, group_id: str, topic: Topic, index: int) -> bool:
        """Whether a group has a state in the parent of a partition: then it begins at its start."""
        assert topic.tree is not None
        split = topic.tree.made_by(index)
        if split is None:
            return False
        keys = (
            ShareKey(group_id, topic.topic_id, each.parent)
            for each in (topic.tree.successions if split.is_succession else (split,))
        )
        return any(self._shares().position(key) is not None for key in keys)


def _note(outcome: KawalShareStatesResponse | PlaceOutcome, code: ErrorCode) -> None:
    outcome.error_code = code


def start_offset(
    partition: Partition, reset: str, wall_ms: int, offload: Offload
) -> Generator[Until | None, None, int]:
    """Return the offset that a value of share.auto.offset.reset means now."""
    if reset == "earliest":
        return partition.log_start
    if reset.startswith("by_duration:"):
        _, offset = yield from first_steps(partition, wall_ms - duration_ms(reset), offload)
        if offset >= 0:
            return max(offset, partition.log_start)
    return partition.high_watermark


def duration_ms(reset: str) -> int:
    """Return the duration in a value `by_duration:PnDTnHnMn.nS`, which was checked when it was set."""
    found = _DURATION.match(reset)
    assert found is not None, reset
    return int(
        sum(
            float(number) * _UNITS_MS[unit]
            for unit, number in found.groupdict().items()
            if number is not None
        )
    )


def after_all(count: int, told: Told) -> Told:
    """Return what is to be called `count` times; `told` learns the first error, or NONE, after the last."""
    outcome = ErrorCode.NONE
    left = count

    def one(code: ErrorCode) -> None:
        nonlocal left, outcome
        left -= 1
        if outcome == ErrorCode.NONE:
            outcome = code
        if left == 0:
            told(outcome)

    if not count:
        told(ErrorCode.NONE)
    return one
