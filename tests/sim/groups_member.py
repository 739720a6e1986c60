"""Clients of the simulated world: the common part of members of both protocols.

`held` is what a client reads from: what it was given and has not given up. Every commit carries a value
that is used once, so that a value found later shows which client wrote it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from groups.coordinator import Coordinator
from groups.topics import Client
from protocol.error_codes import ErrorCode
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.sim.groups_history import History
from tests.sim.groups_world import World

Place = tuple[str, int]

SESSION_MS = 6_000
REBALANCE_MS = 9_000
HEARTBEAT_MS = 1_500
RETRY_MS = 100
RETRIABLE = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.UNRELEASED_INSTANCE_ID,
        ErrorCode.GROUP_ID_NOT_FOUND,
    }
)


class Member:
    """The common part of both kinds of clients."""

    kind = ""
    """The name it is counted under."""

    def __init__(self, world: World, history: History, name: str, group_id: str, topics: list[str]) -> None:
        self.world = world
        self.history = history
        self.name = name
        self.group_id = group_id
        self.topics = topics
        self.instance_id: str | None = None
        self.member_id = ""
        self.generation = -1
        self.held: set[Place] = set()
        self.alive = True
        self.paused_until_ms = 0
        self._postponed: list[Callable[[], None]] = []
        self.client = Client(9, name, "/10.0.0.1")
        self.commit_client = Client(9, name, "/10.0.0.1")
        # Everything scheduled for an older life of the membership is void.
        self.life = 0
        self.later(world.random.randint(0, 1_000), self.join)
        self.later(world.random.randint(500, 2_000), self._commit_now_and_then)

    # --- scheduling -----------------------------------------------------------------------------------------

    def later(self, delay_ms: int, action: Callable[[], None]) -> None:
        """Do something unless the client is dead by then; a paused one does it when it wakes up."""

        def act() -> None:
            if not self.alive:
                return
            if self.world.now_ms < self.paused_until_ms:
                self._postponed.append(act)
            else:
                action()

        self.world.later(delay_ms, act)

    def later_in_life(self, delay_ms: int, action: Callable[[], None]) -> None:
        """Do something unless the membership has changed by then."""
        life = self.life
        self.later(delay_ms, lambda: action() if life == self.life else None)

    def call(
        self,
        serve: Callable[[Coordinator, Callable[[Any], None]], None],
        on_reply: Callable[[Any], None],
        on_failure: Callable[[], None],
        **rest: int,
    ) -> None:
        """Send a request in this life; its outcome is ignored in another one."""
        life = self.life

        def in_life(action: Callable[[], None]) -> None:
            self.later(0, lambda: action() if life == self.life else None)

        self.world.call(
            serve, lambda response: in_life(lambda: on_reply(response)), lambda: in_life(on_failure), **rest
        )

    # --- what happens to it ------------------------------------------------------------------------------

    def pause(self, duration_ms: int) -> None:
        """Do nothing for a while, like a process that is stopped or collects garbage."""
        self.paused_until_ms = max(self.paused_until_ms, self.world.now_ms + duration_ms)
        self.world.later(duration_ms, self._maybe_wake)

    def wake(self) -> None:
        self.paused_until_ms = self.world.now_ms
        self._maybe_wake()

    def _maybe_wake(self) -> None:
        if self.world.now_ms >= self.paused_until_ms:
            postponed, self._postponed = self._postponed, []
            for act in postponed:
                act()

    def kill(self) -> None:
        self.alive = False
        self.held = set()

    def join(self) -> None:
        raise NotImplementedError

    def leave(self) -> None:
        raise NotImplementedError

    def fenced_for_good(self) -> None:
        """Give up, as Java's consumer does when another client has the instance id."""
        self.life += 1
        self.alive = False
        self.held = set()

    # --- commits -----------------------------------------------------------------------------------------

    def _commit_now_and_then(self) -> None:
        if self.held and self.generation > 0:
            self._commit(self.world.random.choice(sorted(self.held)))
        self.later(self.world.random.randint(500, 3_000), self._commit_now_and_then)

    def _commit(self, place: Place) -> None:
        value = self.history.next_value()
        request = OffsetCommitRequest(
            group_id=self.group_id,
            generation_id_or_member_epoch=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            topics=[
                OffsetCommitRequestTopic(
                    name=place[0],
                    partitions=[
                        OffsetCommitRequestPartition(
                            partition_index=place[1], committed_offset=value, committed_metadata=self.name
                        )
                    ],
                )
            ],
        )

        def serve(coordinator: Coordinator, reply: Callable[[Any], None]) -> None:
            told = self.history.commit_arrives(coordinator, self, request, place, value)

            def both(response: Any) -> None:
                told(response)
                reply(response)

            coordinator.offset_commit(request, self.commit_client, both, self.world.now_ms)

        self.call(serve, lambda _: None, lambda: None)
