"""Following the catalogue: a node that is not the controller carries out what the controller has recorded.

A record takes effect here as it did there: topics appear, streams are dropped, logs are opened. Only the
files of databases in a shared directory are the controller's to make and to remove.

Leader epochs go the same way: each node tells its own to the controller, which tells all of them to each.
So do the addresses of nodes on several machines, which have, and remove, their own directories of databases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, Protocol
from uuid import UUID

from broker.catalogue.catalogue_records import (
    CatalogueRecord,
    DatabaseCreated,
    DatabaseDropped,
    TopicDeleted,
    ViewReloaded,
    VnodesAdded,
    decode_record,
)
from broker.catalogue.followed_log import FollowedLog
from broker.loop.internal_errors import ErrorPlace
from broker.loop.slices import pauses_told
from broker.upkeep.absences import Absences
from broker.upkeep.member_states import note_states, states_of
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_follow import KawalFollowRequest, KawalFollowResponse

if TYPE_CHECKING:
    from broker.catalogue.database_directory import DatabaseDirectory
    from broker.catalogue.nodes import Nodes
    from broker.catalogue.topic_directory import TopicDirectory
    from broker.catalogue.topics import Catalogue, Topic
    from broker.loop.loop import Loop
    from broker.loop.slices import Steps

WAIT_MS: Final = 5_000
"""The time that the controller lets a node wait for a change."""

RETRY_MS: Final = 100
"""The pause before the next question to a controller that is away."""

RECORDS_PER_STEP: Final = 10
"""The records that are carried out between two looks at the time: about 1 ms."""


class Follower(Protocol):
    """A node that follows the catalogue."""

    @property
    def catalogue(self) -> Catalogue:
        """The catalogue, as far as it is known."""

    @property
    def databases(self) -> DatabaseDirectory:
        """The databases with their logs."""

    @property
    def topics(self) -> TopicDirectory:
        """The topics with their partitions."""

    @property
    def metadata_log(self) -> object:
        """The log of the catalogue: one that follows."""

    def delete_topic(self, topic: Topic, now_ms: int) -> None:
        """Remove a topic, and answer what waits for it."""

    def reload_view(self, topic: Topic, record: ViewReloaded, now_ms: int) -> None:
        """Give a view another definition, and let fetches that wait for it read on."""


def carry_out(node: Follower, records: Iterable[bytes], now_ms: Callable[[], int]) -> Steps:
    """Carry out the controller's next records, in their order; others have their turn between them."""
    log = node.metadata_log
    assert isinstance(log, FollowedLog)
    for number, data in enumerate(records, start=1):
        record = decode_record(data)
        with log.taking(record):
            _carry_out(node, log, record, now_ms())
        if not number % RECORDS_PER_STEP:
            yield


def _carry_out(node: Follower, log: FollowedLog, record: CatalogueRecord, now_ms: int) -> None:
    match record:
        case TopicDeleted(topic_id=topic_id):
            node.delete_topic(node.catalogue.by_id[UUID(hex=topic_id)], now_ms)
        case ViewReloaded(topic_id=topic_id):
            node.reload_view(node.catalogue.by_id[UUID(hex=topic_id)], record, now_ms)
        case DatabaseDropped():
            node.databases.dropped_elsewhere(record, now_ms)
        case DatabaseCreated():
            log.append(record, now_ms)
            node.databases.created_elsewhere(record, now_ms)
        case VnodesAdded():
            log.append(record, now_ms)
            node.databases.split_elsewhere(record, now_ms)
        case _:
            log.append(record, now_ms)


class Following:
    """The conversation with the controller: what comes after the version that is known, again and again."""

    def __init__(
        self,
        node: Follower,
        loop: Loop,
        nodes: Nodes,
        version: int,
        lost: Callable[[str], None],
        newest: int = -1,
    ) -> None:
        """Begin; `lost(why)` is called when the node cannot go on and must start anew.

        `newest` is the checksum that came with the version.
        """
        self._newest = newest
        self._node, self._loop, self._nodes = node, loop, nodes
        self._lost = lost
        self.version = version
        """The version of the catalogue's log up to which its records count here."""
        self._reached()
        # The version before which no deleted topic has streams here, and no dropped database a directory.
        self._dropped = -1
        if nodes.members is not None:
            self._heard()
            Absences(loop, nodes, _nothing)
        self._ask()

    def _ask(self, _now_ms: int = 0) -> None:
        if not self._loop.stopping:
            if not (self._node.topics.dropped.has_some or self._node.databases.removals.has_some_here):
                self._dropped = self.version
            request = KawalFollowRequest(
                version=self.version,
                newest=self._newest,
                max_wait_ms=WAIT_MS,
                node_id=self._nodes.own_id,
                dropped_version=self._dropped,
                next_stream=self._node.catalogue.next_stream,
                next_producer_id=self._node.catalogue.next_producer_id,
                leader_epochs=self._nodes.epochs,
                members=states_of(self._nodes),
            )
            self._nodes.peers.call(self._nodes.controller_id, request, 0, self._answered)

    def _answered(self, answer: KawalFollowResponse | None) -> None:
        if answer is None or answer.error_code not in (ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE):
            self._loop.timers.add(self._loop.clock.turn_ms + RETRY_MS, self._ask)
        elif answer.error_code:
            self._lost(f"the controller has no version {self.version} of the catalogue, or another one")
        else:
            self._nodes.note_epochs(answer.leader_epochs)
            note_states(self._nodes, answer.members)
            self._heard()
            self._loop.scheduler.add_work(self._take(answer))

    def _heard(self) -> None:
        if self._nodes.members is not None:
            self._nodes.members.heard_controller(self._loop.clock.turn_ms)

    def _take(self, answer: KawalFollowResponse) -> Steps:
        try:
            steps = carry_out(self._node, answer.records, lambda: self._loop.clock.turn_ms)
            # It is not asked meanwhile, and not away.
            yield from pauses_told(steps, self._heard)
        except Exception as error:  # noqa: BLE001  (the net)
            # What is known of the catalogue may be half changed.
            self._loop.internal_errors.note(ErrorPlace.BACKGROUND, "the catalogue cannot be followed", error)
            self._lost("a change of the catalogue could not be carried out")
            return
        self.version, self._newest = answer.next_version, answer.newest
        self._reached()
        self._ask()

    def _reached(self) -> None:
        """Let those go on who wait until a change is known here."""
        log = self._node.metadata_log
        assert isinstance(log, FollowedLog)
        log.reached(self.version)


def _nothing() -> None:
    """Tell no node: each finds out by itself whether the controller answers."""
