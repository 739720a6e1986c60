"""The states of this node's share-partitions that other nodes store, as they lead their partitions.

A share-partition is served by the leader of its partition, and its state is in one partition of
__share_group_state, its home, whose leader may be another node. That one gives out the states of a home in a
session, and stores what this node writes in it (kept_states.py):

    load --> session, states --> served --changes, one request at a time--> durable --> settled
      ^                            ^                                    \
      |                            +---- a new session, same request <--- no answer, or the session is over
      +---- all of the home is forgotten, and what waits is refused <--- not stored in time, or refused

A request without an answer may have been stored. In a new session it cannot be any more, and what it says can
be said twice: states are told as they are, not as they change. If that takes too long, the home is loaded
again, and members get again what they had.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from broker.catalogue.metadata import Metadata
from broker.catalogue.topics import SHARE_STATE_TOPIC
from broker.loop.loop import Loop
from broker.loop.slices import Steps, chunks
from broker.loop.timers import Timer
from groups.effects import Effects
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_share_records import KawalShareRecordsRequest, StateRecord

if TYPE_CHECKING:
    from groups.share.coordinator import ShareCoordinator

logger = logging.getLogger("kawal.coordinators")

AGAIN_MS: Final = 100
"""The pause before states are asked for again."""

STORE_MS: Final = 5_000
"""The time after which a node that has not stored a change counts as one that hangs."""

EFFECTS_MAX: Final = 100
"""The changes in one request: about 10 KB, unless there are snapshots among them."""

REQUEST_BYTES: Final = 256 << 10
"""The bytes of records in one request, if it has more than one change."""

VERSION: Final = 0

_PASSING: Final = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.FENCED_STATE_EPOCH,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
    }
)
"""The outcomes after which a request is sent again: the other node has started again, or cannot store now."""


class Owner(Protocol):
    """The share coordinator of this node."""

    @property
    def machine(self) -> ShareCoordinator:
        """The machine into which the states are loaded."""

    def loaded_elsewhere(self, home: int, machine: ShareCoordinator) -> None:
        """Learn that all states of a home are in a machine."""

    def stored_elsewhere(self, effects: Sequence[Effects]) -> None:
        """Learn that changes of one home, the oldest, are durable."""

    def lost_elsewhere(self, home: int, count: int) -> None:
        """Learn that so many changes of a home may be stored or not, and all of it must be loaded again."""


class _Session:
    """One attempt at a home, from its load up to the first problem."""

    __slots__ = ("number", "sent", "session", "timer", "waiting")

    def __init__(self) -> None:
        # As the other node named it; None until it did.
        self.session: int | None = None
        self.number = 0
        self.sent: list[Effects] = []
        self.waiting: deque[Effects] = deque()
        self.timer: Timer | None = None


class StatesElsewhere:
    """Loads these states, and has changes of them stored."""

    def __init__(self, metadata: Metadata, loop: Loop, owner: Owner) -> None:
        self._metadata = metadata
        self._loop = loop
        self._owner = owner
        self._homes: dict[int, _Session] = {}

    def load(self, homes: Iterable[int]) -> None:
        """Begin to load these homes; what was sent for them before counts for nothing."""
        for home in homes:
            session = self._homes[home] = _Session()
            self._ask(home, session)

    def _is_current(self, home: int, session: _Session) -> bool:
        return self._homes.get(home) is session and not self._loop.stopping

    def _ask(self, home: int, session: _Session) -> None:
        """Ask for the states of a home."""
        if self._is_current(home, session):
            self._call(home, self._opening(home), lambda answer: self._answered(home, session, answer))

    def _opening(self, home: int) -> KawalShareRecordsRequest:
        return KawalShareRecordsRequest(node_id=self._metadata.nodes.own_id, partition=home, records=[])

    def _call(self, home: int, request: KawalShareRecordsRequest, done: Any) -> None:
        topic = self._metadata.catalogue.by_name[SHARE_STATE_TOPIC]
        leader = self._metadata.nodes.leader_of_vnode(topic.vnode_index(home))
        self._metadata.nodes.peers.call(leader, request, VERSION, done)

    def _answered(self, home: int, session: _Session, answer: Any | None) -> None:
        if not self._is_current(home, session):
            return
        if answer is None or answer.error_code:
            self._loop.timers.add(self._loop.clock.turn_ms + AGAIN_MS, lambda _: self._ask(home, session))
        else:
            session.session = answer.session
            self._loop.scheduler.add_work(self._take(home, session, answer.records))

    def _take(self, home: int, session: _Session, records: Sequence[StateRecord]) -> Steps:
        machine = self._owner.machine
        for some in chunks(records):
            if not self._is_current(home, session) or machine is not self._owner.machine:
                return
            for record in some:
                machine.replay(home, record.key, record.value)
            yield
        if self._is_current(home, session):
            self._owner.loaded_elsewhere(home, machine)

    # --- changes --------------------------------------------------------------------------------------------

    def send(self, effects: Effects) -> bool:
        """Have a change stored after all before it; False: its home is not loaded."""
        session = self._homes.get(effects.partition)
        if session is None or session.session is None:
            return False
        session.waiting.append(effects)
        self._send_next(effects.partition, session)
        return True

    def _send_next(self, home: int, session: _Session) -> None:
        if session.sent or not session.waiting:
            return
        session.sent = _first(session.waiting)
        late_ms = self._loop.clock.turn_ms + STORE_MS
        session.timer = self._loop.timers.add(late_ms, lambda _: self._lose(home, session, "it is late"))
        self._send(home, session)

    def _send(self, home: int, session: _Session) -> None:
        assert session.session is not None, "a home is loaded before it is changed"
        request = KawalShareRecordsRequest(
            node_id=self._metadata.nodes.own_id,
            partition=home,
            session=session.session,
            number=session.number,
            records=[
                StateRecord(key=key, value=value) for each in session.sent for key, value in each.records
            ],
        )
        self._call(home, request, lambda answer: self._stored(home, session, answer))

    def _stored(self, home: int, session: _Session, answer: Any | None) -> None:
        if self._homes.get(home) is not session:
            return
        code = ErrorCode.NETWORK_EXCEPTION if answer is None else ErrorCode(answer.error_code)
        if code != ErrorCode.NONE:
            if code in _PASSING and not self._loop.stopping:
                self._reopen(home, session)
            else:
                self._lose(home, session, code.name)
            return
        _cancel(session)
        session.number += 1
        sent, session.sent = session.sent, []
        self._owner.stored_elsewhere(sent)
        if self._homes.get(home) is session:
            self._send_next(home, session)

    def _reopen(self, home: int, session: _Session) -> None:
        """Open a new session, and send again what was not answered; the time for it does not begin anew."""

        def opened(answer: Any | None) -> None:
            if not self._is_current(home, session):
                return
            if answer is None or answer.error_code:
                self._loop.timers.add(
                    self._loop.clock.turn_ms + AGAIN_MS, lambda _: self._reopen(home, session)
                )
            else:
                session.session, session.number = answer.session, 0
                self._send(home, session)

        if self._is_current(home, session):
            self._call(home, self._opening(home), opened)

    def _lose(self, home: int, session: _Session, why: str) -> None:
        if self._homes.get(home) is session:
            logger.warning("changes in partition %d of %s may be lost: %s", home, SHARE_STATE_TOPIC, why)
            self.start_again(home)

    def start_again(self, home: int) -> None:
        """Forget all of a home, and load it again."""
        before = self._homes.pop(home, None)
        count = 0
        if before is not None:
            _cancel(before)
            count = len(before.sent) + len(before.waiting)
        self._owner.lost_elsewhere(home, count)
        if not self._loop.stopping:
            self.load((home,))


def _cancel(session: _Session) -> None:
    if session.timer is not None:
        session.timer.cancel()
        session.timer = None


def _first(waiting: deque[Effects]) -> list[Effects]:
    """Take the oldest changes, as many as one request may have."""
    taken: list[Effects] = []
    size_bytes = 0
    while waiting and len(taken) < EFFECTS_MAX:
        size_bytes += sum(len(key) + len(value or b"") for key, value in waiting[0].records)
        if taken and size_bytes > REQUEST_BYTES:
            break
        taken.append(waiting.popleft())
    return taken
