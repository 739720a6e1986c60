"""The states of share groups, made and deleted as the group coordinator orders it.

A group's state in a partition is kept by the share coordinator (shares.py), and that it is there by the group
coordinator. So that an assigned partition always has one, the first is made before the second notes it.

    InitOrder   --> where it begins (share.auto.offset.reset) --> initialize --durable--> noted, assigned
    DeleteOrder --> delete --durable--> told

Source: KIP-932; Kafka 4.3's GroupCoordinatorService.persisterInitialize and deleteShareGroups.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import UUID

from broker.catalogue.metadata import Metadata
from broker.config import group_configs
from broker.errors import RequestError
from broker.loop.loop import Loop
from broker.loop.slices import ITEMS_PER_STEP, PLAIN_ITEMS_PER_STEP, Offload, Until, WaitingSteps
from broker.storage.partition import Partition
from broker.storage.timestamps import first_steps
from groups.errors import GroupError
from groups.share.membership import DeleteOrder, InitOrder
from groups.share.state_records import ShareKey
from protocol.error_codes import ErrorCode
from wal.disk import DiskError
from wal.errors import WalError

if TYPE_CHECKING:
    from broker.catalogue.topic import Topic
    from broker.coordinators.shares import Shares
    from groups.coordinator import Coordinator

logger = logging.getLogger("kawal.coordinators")

_DURATION: Final = re.compile(
    r"by_duration:P(?:(?P<days>\d+)D)?"
    r"(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?",
    re.IGNORECASE,
)
_UNITS_MS: Final = {"days": 86_400_000, "hours": 3_600_000, "minutes": 60_000, "seconds": 1_000}

Told = Callable[[ErrorCode], None]


class ShareStates:
    """Carries out orders in the background."""

    def __init__(
        self,
        metadata: Metadata,
        loop: Loop,
        step: Callable[[int], AbstractContextManager[Coordinator]],
        shares: Callable[[], Shares],
    ) -> None:
        """`step(now_ms)` gives access to the group coordinator, `shares()` returns the share coordinator."""
        self._metadata = metadata
        self._loop = loop
        self._step = step
        self._shares = shares

    def carry_out(self, order: InitOrder | DeleteOrder) -> None:
        """Make or delete the states; the group coordinator learns of the outcome."""
        if isinstance(order, InitOrder):
            self._loop.scheduler.add_work(self._initialize(order))
        else:
            self._delete(order)

    def _initialize(self, order: InitOrder) -> WaitingSteps:
        found: list[tuple[ShareKey, int]] = []
        try:
            for number, (topic_id, index) in enumerate(order.partitions, 1):
                start = yield from self.start_of(order.group_id, topic_id, index)
                if start is not None:
                    found.append((ShareKey(order.group_id, topic_id, index), start))
                if not number % ITEMS_PER_STEP:
                    yield None
        except (RequestError, WalError, DiskError) as error:
            logger.error("share group %.100r is not initialized: %s", order.group_id, error)
            self._initialized(order, ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        told = after_all(len(found), lambda code: self._made(order, code))
        for number, (key, start) in enumerate(found, 1):
            self._change(key, start, told)
            if not number % ITEMS_PER_STEP:
                yield None

    def _change(self, key: ShareKey, start: int, told: Told) -> None:
        now_ms = self._loop.clock.turn_ms
        with self._shares().step(now_ms) as machine:
            try:
                machine.initialize(key, start, told, now_ms)
            except GroupError as error:
                told(error.code)

    def _made(self, order: InitOrder, code: ErrorCode) -> None:
        """Tell that the last state is durable: of many in a turn of its own, as many were settled in this."""
        if len(order.partitions) > PLAIN_ITEMS_PER_STEP:
            self._loop.scheduler.soon(partial(self._initialized, order, code))
        else:
            self._initialized(order, code)

    def _initialized(self, order: InitOrder, code: ErrorCode) -> None:
        now_ms = self._loop.clock.turn_ms
        with self._step(now_ms) as machine:
            membership = machine.share(now_ms).membership
            if code == ErrorCode.NONE:
                membership.initialized(order, now_ms)
            else:
                membership.not_initialized(order, now_ms)

    def _delete(self, order: DeleteOrder) -> None:
        now_ms = self._loop.clock.turn_ms

        def told(code: ErrorCode) -> None:
            at_ms = self._loop.clock.turn_ms
            with self._step(at_ms) as machine:
                machine.share(at_ms)
                order.done(code)

        with self._shares().step(now_ms) as machine:
            try:
                known = machine.all_keys_of(order.group_id)
            except GroupError as error:
                told(error.code)
                return
            keys = [key for key in known if order.topic_ids is None or key.topic_id in order.topic_ids]
            done = after_all(len(keys), told)
            for key in keys:
                try:
                    machine.delete(key, done, now_ms)
                except GroupError as error:
                    done(error.code)

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
