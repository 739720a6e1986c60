"""The states of share-partitions that this node stores for others, which lead their partitions.

They are in the partitions of __share_group_state that this node leads, their homes, among the states of
share-partitions of its own. A leader loads its states of a home, which opens a session, and writes changes in
it (states_elsewhere.py):

    load         a new session, and the states when all that they contain is durable; the one before ends
    store n      n-th request of that session: appended, applied, answered when durable; others are refused

So after a load nothing is stored that an earlier process of the leader has sent, nor the leader itself before
a time-out, however late it comes, and nothing twice. Sessions are in memory alone, and their numbers are of
one process: the next one refuses them.
Source: the place of Kafka 4.3's ShareCoordinatorShard, which leader epochs fence.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from broker.catalogue.metadata import Metadata
from broker.catalogue.topics import SHARE_STATE_TOPIC
from broker.coordinators.copier import DurableWaiter
from broker.coordinators.records import append_records
from broker.errors import RequestError
from broker.loop.loop import Loop
from broker.loop.slices import ITEMS_PER_STEP, Until, WaitingSteps, outcome_of
from broker.storage.partition import Partition
from groups.effects import EncodedRecord
from groups.share.state_records import ShareKey, Snapshot, Update, decode_state, encode_snapshot
from protocol.error_codes import ErrorCode
from protocol.errors import ProtocolError
from protocol.messages.kawal_share_records import (
    KawalShareRecordsRequest,
    KawalShareRecordsResponse,
    StateRecord,
)
from wal.disk import DiskError
from wal.errors import WalError

if TYPE_CHECKING:
    from random import Random

    from broker.storage.vnode import Vnode
    from groups.share.coordinator import ShareCoordinator

SESSION_BITS: Final = 62
"""The bits of the first session's number: no other process has begun near it."""


class Owner(Protocol):
    """The share coordinator of this node."""

    @property
    def machine(self) -> ShareCoordinator:
        """The machine with all states that are stored here."""

    def load_again(self, home: int) -> None:
        """Load a home again, as what is known of it is not what is stored."""


class KeptStates:
    """Serves the requests of other nodes about these states."""

    def __init__(self, metadata: Metadata, loop: Loop, shares: Owner, random: Random) -> None:
        self._metadata = metadata
        self._loop = loop
        self._shares = shares
        self._next_session = random.getrandbits(SESSION_BITS)
        # By home and node: the session, and the number of its next request.
        self._sessions: dict[tuple[int, int], tuple[int, int]] = {}

    def forget(self, home: int) -> None:
        """End all sessions of a home: its states are loaded from the log again."""
        for name in [name for name in self._sessions if name[0] == home]:
            del self._sessions[name]

    def serve(self, request: KawalShareRecordsRequest) -> WaitingSteps:
        """Return the steps that answer a request."""
        try:
            if request.session < 0:
                return (yield from self._load(request))
            yield from self._store(request)
        except RequestError as error:
            return KawalShareRecordsResponse(error_code=error.code, records=[])
        return KawalShareRecordsResponse(records=[])

    def _home(self, index: int) -> Partition:
        """Return a partition of __share_group_state with all states.  Raises: RequestError."""
        topic = self._metadata.catalogue.find(SHARE_STATE_TOPIC)
        if topic is None or not 0 <= index < topic.partition_count:
            raise RequestError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        found = self._metadata.topics.partition(topic, index)
        if not self._shares.machine.is_whole(index):
            raise RequestError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return found

    def _leader(self, key: ShareKey) -> int | None:
        """Return the node that leads a share-partition's partition; None if that is not known here."""
        topic = self._metadata.catalogue.find_id(key.topic_id)
        if topic is None or not 0 <= key.partition < topic.partition_count:
            return None
        return self._metadata.topics.leader(topic, key.partition)[0]

    # --- load -----------------------------------------------------------------------------------------------

    def _load(
        self, request: KawalShareRecordsRequest
    ) -> Generator[Until | None, None, KawalShareRecordsResponse]:
        """Open a session, and return the states of a node.  Raises: RequestError."""
        home, machine = self._home(request.partition), self._shares.machine
        name, session = (home.index, request.node_id), self._next_session
        self._next_session += 1
        self._sessions[name] = session, 0
        records: list[StateRecord] = []
        for number, share in enumerate(machine.table.of_partition(home.index), start=1):
            if machine.table.shares.get(share.key) is share and self._leader(share.key) == request.node_id:
                key, value = encode_snapshot(share.key, machine.table.snapshot(share))
                records.append(StateRecord(key=key, value=value))
            if not number % ITEMS_PER_STEP:
                yield None
        yield from self._durable(home.vnode)
        if self._sessions.get(name) != (session, 0):
            raise RequestError(ErrorCode.FENCED_STATE_EPOCH)
        return KawalShareRecordsResponse(session=session, records=records)

    def _durable(self, vnode: Vnode) -> Generator[Until | None, None, None]:
        """Wait until all that was appended is durable.  Raises: RequestError if it was lost."""
        now_ms, version = self._loop.clock.turn_ms, vnode.last_version

        def wait(done: Callable[[ErrorCode | None], None]) -> None:
            vnode.wait_durable(version, DurableWaiter(done), now_ms)

        error = yield from outcome_of(wait)
        if error is not None:
            raise RequestError(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    # --- store ----------------------------------------------------------------------------------------------

    def _store(self, request: KawalShareRecordsRequest) -> Generator[Until | None, None, None]:
        """Store changes, and return when they are durable.  Raises: RequestError; they may be stored."""
        home, machine = self._home(request.partition), self._shares.machine
        name, state = (home.index, request.node_id), (request.session, request.number)
        if self._sessions.get(name) != state:
            raise RequestError(ErrorCode.FENCED_STATE_EPOCH)
        records = self._known(request)
        if records:
            try:
                append_records(home, list(records), self._loop.clock.wall_ms(self._loop.clock.turn_ms))
            except (WalError, DiskError) as error:
                raise RequestError(ErrorCode.COORDINATOR_NOT_AVAILABLE, str(error)) from error
            for key, value in records:
                machine.replay(home.index, key, value)
        self._sessions[name] = request.session, request.number + 1
        try:
            yield from self._durable(home.vnode)
        except RequestError:
            # What is known of the home here is not what its log has.
            if machine is self._shares.machine:
                self._shares.load_again(home.index)
            raise

    def _known(self, request: KawalShareRecordsRequest) -> Sequence[EncodedRecord]:
        """Return the records but for those about share-partitions that are gone with their topic.

        Raises: RequestError; of a topic that is not known here yet no state can begin, and a change must
        belong to the last snapshot.
        """
        known: list[EncodedRecord] = []
        shares = self._shares.machine.table.shares
        epochs: dict[ShareKey, int | None] = {}
        for record in request.records:
            key, value = bytes(record.key), None if record.value is None else bytes(record.value)
            try:
                decoded = decode_state(key, value)
            except ProtocolError as error:
                raise RequestError(ErrorCode.INVALID_RECORD, str(error)) from error
            if decoded is None:
                raise RequestError(ErrorCode.INVALID_RECORD)
            name, state = decoded
            leader = self._leader(name)
            if leader is None and not isinstance(state, Snapshot):
                continue
            if leader != request.node_id:
                raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            share = shares.get(name)
            epoch = epochs.get(name, None if share is None else share.epoch)
            if isinstance(state, Update) and state.epoch != epoch:
                raise RequestError(ErrorCode.INVALID_RECORD)
            epochs[name] = None if state is None else state.epoch
            known.append((key, value))
        return known
