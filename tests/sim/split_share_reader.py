"""A share group that reads a topic whose partitions split; its member dies before it acknowledges."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from protocol.messages.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ShareFetchRequest,
)
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.sim.split_readers import GONE, Asking, Reader, committed

ACCEPT = 1

FIRST_SESSION = 0


class ShareReader(Reader):
    """One member at a time; what it has got is accepted with its next fetch."""

    def live(self) -> Asking:
        """Send heartbeats, and fetch what they give."""
        self._session, self._got = FIRST_SESSION, dict[int, list[tuple[int, int]]]()
        epoch, held = 0, list[int]()
        # A member's name is a UUID in base64 on the wire.
        name = self.member.ljust(22, "A")
        while True:
            request = ShareGroupHeartbeatRequest(
                group_id=self.name,
                member_id=name,
                member_epoch=epoch,
                subscribed_topic_names=None if epoch else ["t"],
            )
            answer = yield request, 1
            if answer is None:
                continue
            if answer.error_code in GONE:
                return
            if answer.error_code:
                continue
            epoch = answer.member_epoch
            if answer.assignment is not None:
                entries = answer.assignment.topic_partitions
                held = sorted(index for entry in entries for index in entry.partitions)
            for _ in range(self.chance.randint(1, 4)):
                yield from self._fetch(name, held)

    def _fetch(self, name: str, held: list[int]) -> Generator[tuple[Any, int], Any, None]:
        if not held:
            return
        said = self._got if self._session != FIRST_SESSION else {}
        asked = [
            FetchPartition(
                partition_index=index,
                acknowledgement_batches=[
                    AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=[ACCEPT])
                    for first, last in said.get(index, ())
                ],
            )
            for index in sorted({*held, *said})
        ]
        request = ShareFetchRequest(
            group_id=self.name,
            member_id=name,
            share_session_epoch=self._session,
            max_wait_ms=0,
            min_bytes=1,
            max_bytes=1 << 20,
            max_records=3,
            batch_size=3,
            topics=[FetchTopic(topic_id=self.topic_id, partitions=asked)],
            forgotten_topics_data=[],
        )
        answer = yield request, 2
        self._got = {}
        if answer is None or answer.error_code:
            # What it was given is released with the session.
            self._session = FIRST_SESSION
            return
        self._session += 1
        for data in (data for topic in answer.responses for data in topic.partitions):
            given = [(each.first_offset, each.last_offset) for each in data.acquired_records]
            rows = committed(bytes(data.records or b""), ())
            inside = [row for row in rows if any(first <= row[0] <= last for first, last in given)]
            self.seen.add(data.partition_index, inside)
            if given:
                self._got[data.partition_index] = given
