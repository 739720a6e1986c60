"""A member of a share group in the simulation: heartbeats, fetches, acknowledgements, one request at a time.

It does what clients do, and some of what they should not: it acknowledges out of turn, what it does not have,
what it has had for too long, with a wrong epoch; it falls silent, hangs up, and comes back on another
connection while the old one is still there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

from protocol.error_codes import ErrorCode as E
from protocol.messages import share_acknowledge, share_fetch
from protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from protocol.messages.share_fetch import FetchPartition, FetchTopic, ForgottenTopic, ShareFetchRequest
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.sim.clients import Link
from tests.sim.share_history import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    Asked,
    Given,
    Hold,
    ShareHistory,
)
from tests.sim.share_wire import AWAY, BUSY, NO_SESSION, NOT_HELD, batches, values_in
from tests.sim.world import World

FAR = 1_000_000
"""An offset that was never delivered."""

Said = dict[int, dict[int, int]]
"""By partition and offset: what becomes of a record."""


class Spoken(NamedTuple):
    """The acknowledgements of a request, until it is answered."""

    said: Said
    sure: dict[int, dict[int, Hold]]
    asked: Asked


class ShareMember:
    """One member; `saw(group, partition, offset, value)` is told of each record that it is given."""

    GIVES_UP = 0.04

    def __init__(
        self,
        world: World,
        history: ShareHistory,
        chance: Random,
        name: str,
        group: str,
        topic: tuple[str, UUID],
        saw: Callable[[str, int, int, bytes], None],
    ) -> None:
        self.world = world
        self.history = history
        self.chance = chance
        # On the wire it is as long as a UUID.
        self.name = name.ljust(22, "A")
        self.group = group
        self.topic, self.topic_id = topic
        self._saw = saw
        self.is_away = False
        """Whether it is to leave its group, and to stay away."""
        self.accepts_all = False
        """Whether it does nothing but its work."""
        self._is_slow = chance.random() < 0.4
        self.epoch = 0
        self.session = 0
        self.assigned: list[int] = []
        self.held: dict[int, dict[int, int]] = {}
        """The records that it was given and has said nothing of: counts by partition and offset."""
        self._link: Link | None = None
        self._waiting: Any = None
        self._acknowledges = False
        self._is_late = False

    # --- one request at a time ------------------------------------------------------------------------------

    @property
    def is_waiting(self) -> bool:
        """Whether a request of it is not answered yet."""
        return self._waiting is not None

    def step(self) -> str:
        """Do the next thing."""
        if self._waiting is not None:
            if self.accepts_all or self.chance.random() >= self.GIVES_UP:
                return "waits"
            return self.hang_up()
        if self.is_away:
            return self._beat(-1) if self.epoch else "is away"
        if not self.epoch or not self.assigned or self.chance.random() < 0.1:
            return self._beat(self.epoch)
        if self.accepts_all:
            return self._fetch()
        if self._is_slow and any(self.held.values()) and self.chance.random() < 0.8:
            return "works"
        acts = [
            self._fetch,
            self._acknowledge,
            self._renew,
            self._close,
            self._stumble,
            self.hang_up,
            self._move,
        ]
        act = self.chance.choices(acts, [10, 7, 2, 0.5, 0.5, 0.3, 0.3])[0]
        return act()

    def hang_up(self) -> str:
        """End the connection; what was answered and not read counts all the same."""
        link = self._link
        if link is not None and link.is_open:
            self.read_too_late()
            if link.is_open:
                link.close()
        return "hangs up"

    def read_too_late(self) -> None:
        """Look at answers that no member will ever know of, as its connection ends."""
        link = self._link
        if link is None or not link.is_open:
            return
        self._is_late = True
        link.pull()
        self._is_late = False
        may_have_acquired = self._acknowledges or self.world.broker.scheduler.pending
        if isinstance(self._waiting, ShareFetchRequest) and may_have_acquired:
            self.history.unseen[self.group] += 1

    def _move(self) -> str:
        """Go on with another connection, while the server still has the old one."""
        self._lost()
        self._link = None
        return "moves to another connection"

    def _lost(self) -> None:
        """Forget all that the connection had."""
        self.session = 0
        self.history.left(self.group, self.name)
        if self.chance.random() < 0.7:
            self.held.clear()

    def _send(self, request: Any, version: int, answered: Callable[[Any], None]) -> None:
        if self._link is None or not self._link.is_open:
            self._lost()
            self._link = Link(self.world)
        self._waiting = request
        link = self._link

        def done(answer: Any) -> None:
            if self._waiting is request:
                self._waiting = None
            if answer is None and link is self._link:
                self._lost()
            if answer is not None:
                answered(answer)

        link.send(request, version, done)

    # --- membership -----------------------------------------------------------------------------------------

    def _beat(self, epoch: int) -> str:
        topics = [self.topic] if epoch == 0 else None
        request = ShareGroupHeartbeatRequest(
            group_id=self.group, member_id=self.name, member_epoch=epoch, subscribed_topic_names=topics
        )

        def answered(answer: Any) -> None:
            if answer.error_code in AWAY or (epoch < 0 and not answer.error_code):
                self.epoch, self.assigned = 0, []
            elif not answer.error_code:
                self.epoch = answer.member_epoch
                if answer.assignment is not None:
                    parts = answer.assignment.topic_partitions
                    self.assigned = sorted(index for part in parts for index in part.partitions)
            else:
                assert answer.error_code in BUSY, answer

        self._send(request, 1, answered)
        return f"beats with epoch {epoch}"

    # --- what it says ---------------------------------------------------------------------------------------

    def _choose(self, kinds: Iterable[int], share: float) -> Said:
        """Choose some of the records that it has, and what becomes of each."""
        kinds = list(kinds)
        said: Said = {}
        for index, offsets in self.held.items():
            kind = self.chance.choice(kinds)
            mixed = self.chance.random() < 0.4
            chosen = {
                offset: self.chance.choice(kinds) if mixed else kind
                for offset in offsets
                if self.chance.random() < share
            }
            if chosen:
                said[index] = chosen
        return said

    def _speak(self, said: Said) -> Spoken:
        """Note what is about to be said; the member has those records no longer, but for renewed ones."""
        sure: dict[int, dict[int, Hold]] = {}
        for index, offsets in said.items():
            sure[index] = self.history.says((self.group, index), self.name, offsets.items())
            for offset, kind in offsets.items():
                if kind != RENEW:
                    self.held.get(index, {}).pop(offset, None)
        return Spoken(said, sure, self.history.asked())

    def _heard(self, spoken: Spoken, codes: dict[int, int]) -> None:
        """Note the outcome by partition; all others are refused."""
        for index, said in spoken.said.items():
            seat, sure = (self.group, index), spoken.sure[index]
            code = codes[index]
            assert code in NOT_HELD or code in BUSY or not code, (seat, code)
            if code in NOT_HELD and FAR not in said:
                self.history.check_refusal(seat, said, sure, code)
            assert code or FAR not in said, f"{seat}: what was never delivered was acknowledged"
            self.history.answered(seat, said, sure, spoken.asked, code)
            if code and not self._is_late:
                self.held.setdefault(index, {}).update({offset: hold.count for offset, hold in sure.items()})

    def _unspoken(self, spoken: Spoken, code: int) -> None:
        """Note that a whole request was refused."""
        assert code in NO_SESSION or code in BUSY or code == E.GROUP_ID_NOT_FOUND, (self.name, code)
        self.history.happened["refused requests"] += 1
        for index, said in spoken.said.items():
            self.history.answered((self.group, index), said, {}, spoken.asked, code)
        if code in NO_SESSION:
            self._lost()

    # --- fetches --------------------------------------------------------------------------------------------

    def _fetch(self) -> str:
        said: Said = {}
        if self.session:
            if self.accepts_all or self.chance.random() < 0.4:
                said = self._choose([ACCEPT], 1.0)
            elif self.chance.random() < 0.5:
                said = self._choose([ACCEPT, ACCEPT, RELEASE, REJECT], 0.6)
        places = self.assigned if self.accepts_all or self.chance.random() < 0.8 else self.assigned[:1]
        spoken = self._speak(said)
        forgotten = []
        if self.session and not said and len(self.assigned) > 1 and self.chance.random() < 0.05:
            forgotten = [ForgottenTopic(topic_id=self.topic_id, partitions=self.assigned[1:])]
            places = self.assigned[:1]
        wait_ms = 0 if self.accepts_all else self.chance.choice((0, 0, 500, 5_000))
        exact = self.chance.random() < 0.5
        request = ShareFetchRequest(
            group_id=self.group,
            member_id=self.name,
            share_session_epoch=self.session,
            max_wait_ms=wait_ms,
            min_bytes=self.chance.choice((1, 1, 100)) if wait_ms else 1,
            max_bytes=self.chance.choice((300, 1 << 20)),
            max_records=self.chance.choice((1, 3, 10)),
            batch_size=self.chance.choice((1, 3, 10)),
            share_acquire_mode=int(exact),
            topics=[self._asked(sorted({*places, *said}), said)],
            forgotten_topics_data=forgotten,
        )
        self._acknowledges = bool(said)
        version = self.chance.choice((1, 2))
        limit = request.max_records if exact and version == 2 else None
        self._send(request, version, lambda answer: self._fetched(answer, spoken, limit))
        return f"fetches {places} in session {self.session} and says {said}"

    def _asked(self, places: Iterable[int], said: Said) -> FetchTopic:
        batch = share_fetch.AcknowledgementBatch
        parts = [
            FetchPartition(partition_index=index, acknowledgement_batches=batches(batch, said.get(index, {})))
            for index in places
        ]
        return FetchTopic(topic_id=self.topic_id, partitions=parts)

    def _fetched(self, answer: Any, spoken: Spoken, limit: int | None) -> None:
        if answer.error_code:
            self._unspoken(spoken, answer.error_code)
            return
        self.session += 1
        found = [data for topic in answer.responses for data in topic.partitions]
        self._heard(spoken, {data.partition_index: data.acknowledge_error_code for data in found})
        count = 0
        for data in found:
            assert not data.error_code or data.error_code in BUSY | AWAY, data
            count += self._take(data, spoken.asked)
        assert limit is None or count <= limit, f"{self.name} asked for {limit} records and has {count}"
        if not self._is_late:
            self.history.check_window(self.group, self.name)

    def _take(self, data: Any, asked: Asked) -> int:
        """Check and keep the records of a partition; return their number."""
        seat, before, count = (self.group, data.partition_index), -1, 0
        values = values_in(data.records)
        for part in data.acquired_records:
            assert before < part.first_offset <= part.last_offset, data.acquired_records
            before = part.last_offset
            given = Given(part.first_offset, part.last_offset, part.delivery_count)
            for offset in range(given.first, given.last + 1):
                assert offset in values, f"{seat} {offset} was given, and is no record of the answer (H5)"
                self._saw(*seat, offset, values[offset])
                count += 1
                if not self._is_late:
                    self.held.setdefault(seat[1], {})[offset] = given.delivery
            self.history.delivered(seat, given, asked, self.name, partial(self._keeps, self._link))
        if self._is_late:
            self.history.happened["unread deliveries"] += count
        return count

    def _keeps(self, link: Link | None) -> bool:
        """Whether the member still uses a connection, which lives."""
        is_open = link is not None and link.is_open and link.connection.close_reason is None
        return is_open and link is self._link

    # --- other requests -------------------------------------------------------------------------------------

    def _acknowledge(self) -> str:
        said = self._choose([ACCEPT, ACCEPT, ACCEPT, RELEASE, REJECT, GAP], 0.7)
        if not said or not self.session:
            return self._fetch()
        if self.chance.random() < 0.05:
            # All that is said of a partition counts, or nothing.
            said[self.chance.choice(list(said))][FAR] = ACCEPT
        return self._say(said, self.session, renews=False)

    def _renew(self) -> str:
        said = self._choose([RENEW, RENEW, RENEW, ACCEPT], 0.7)
        if not said or not self.session:
            return self._fetch()
        return self._say(said, self.session, renews=True)

    def _close(self) -> str:
        """Close the session, after some acknowledgements; the rest is given back."""
        if not self.session:
            return self._fetch()
        return self._say(self._choose([ACCEPT, RELEASE], 0.3), -1, renews=False)

    def _stumble(self) -> str:
        """Use a wrong epoch of the session, which changes nothing."""
        if not self.session:
            return self._fetch()
        return self._say({}, self.session + self.chance.choice((1, 5)), renews=False)

    def _say(self, said: Said, epoch: int, *, renews: bool) -> str:
        spoken = self._speak(said)
        batch = share_acknowledge.AcknowledgementBatch
        parts = [
            share_acknowledge.AcknowledgePartition(
                partition_index=index, acknowledgement_batches=batches(batch, offsets)
            )
            for index, offsets in said.items()
        ]
        topic = share_acknowledge.AcknowledgeTopic(topic_id=self.topic_id, partitions=parts)
        request = ShareAcknowledgeRequest(
            group_id=self.group,
            member_id=self.name,
            share_session_epoch=epoch,
            is_renew_ack=renews,
            topics=[topic] if parts else [],
        )
        is_wrong = epoch > self.session

        def answered(answer: Any) -> None:
            if is_wrong:
                assert answer.error_code in NO_SESSION, answer
                if answer.error_code == E.SHARE_SESSION_NOT_FOUND:
                    self._lost()
                return
            if answer.error_code:
                self._unspoken(spoken, answer.error_code)
                return
            found = [data for topic in answer.responses for data in topic.partitions]
            self._heard(spoken, {data.partition_index: data.error_code for data in found})
            self._end_session() if epoch < 0 else self._count_session()

        if epoch < 0:
            # From now on the server may give back what it has.
            self.history.left(self.group, self.name)
        self._send(request, 2, answered)
        return f"says {said} with epoch {epoch}"

    def _count_session(self) -> None:
        self.session += 1

    def _end_session(self) -> None:
        self.session = 0
        self.held.clear()
