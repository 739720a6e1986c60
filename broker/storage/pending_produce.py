"""The answer to a produce request that waits for the disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from broker.loop.call import Call
from broker.loop.slices import Offload, Until, size_of
from broker.loop.stats import Cause
from protocol.error_codes import ErrorCode
from protocol.messages.produce import PartitionProduceResponse, ProduceRequest, ProduceResponse

if TYPE_CHECKING:
    from broker.storage.vnode import Vnode

ACKS_NONE = 0

PARTITIONS_PER_SLICE = 100
"""The number of batches appended without a pause, if each is small."""


class PendingProduce:
    """An answer that is complete except for the disk.

    What a step has appended is awaited from the end of that step: if it is lost, the log gives out the same
    versions again, and only its waiters learn of the loss.
    """

    __slots__ = ("_resume", "appends", "call", "lost", "offload", "outstanding", "response")

    def __init__(self, call: Call[ProduceRequest], response: ProduceResponse, offload: Offload) -> None:
        self.call = call
        self.response = response
        self.offload = offload
        # The appends of the present step.
        self.appends: dict[Vnode, VnodeAppends] = {}
        self.lost = False
        # The vnodes that are awaited, and one for the steps of the request itself.
        self.outstanding = 1
        self._resume: Callable[[], None] | None = None

    def add(self, vnode: Vnode, version: int, answer: PartitionProduceResponse) -> None:
        """Add a batch that was appended up to this version."""
        appends = self.appends.get(vnode)
        if appends is None:
            appends = self.appends[vnode] = VnodeAppends(self)
        appends.version = version
        appends.answers.append(answer)

    def await_appends(self) -> None:
        """Await what the present step has appended."""
        appends, self.appends = self.appends, {}
        self.outstanding += len(appends)
        for vnode, part in appends.items():
            vnode.wait_durable(part.version, part, self.call.received_ms)

    def until_settled(self) -> Until:
        """Wait until all that has been appended so far is on the disk, or lost."""

        def start(resume: Callable[[], None]) -> None:
            if self.outstanding == 1:
                resume()
            else:
                self._resume = resume

        return Until(start)

    def settled(self) -> None:
        """Count down; answer after the last one."""
        self.outstanding -= 1
        if self.outstanding == 1 and self._resume is not None:
            resume, self._resume = self._resume, None
            resume()
        if self.outstanding:
            return
        if self.call.request.acks == ACKS_NONE:
            answer_nothing(self.call, failed=self.lost)
        elif partition_count(self.call.request) > PARTITIONS_PER_SLICE:
            self.call.reply_in_thread(self.response, self.offload)
        else:
            self.call.reply(self.response)


class VnodeAppends:
    """The batches that one step has appended to one vnode; they become durable, or are lost, together."""

    __slots__ = ("answers", "pending", "version")

    def __init__(self, pending: PendingProduce) -> None:
        self.pending = pending
        self.answers: list[PartitionProduceResponse] = []
        # Of the last record.
        self.version = -1

    def appended(self, _vnode: Vnode, error: ErrorCode | None, _now_ms: int) -> None:
        """Settle the batches."""
        if error is not None:
            self.pending.lost = True
            for answer in self.answers:
                answer.error_code = error
                answer.base_offset = -1
                answer.error_message = "the records could not be made durable; see the server's log"
        self.pending.settled()


def partition_count(request: ProduceRequest) -> int:
    """Return the number of partitions that the request names, or one too high for a slice."""
    return size_of(request.topic_data, lambda topic: topic.partition_data, enough=PARTITIONS_PER_SLICE)


def answer_nothing(call: Call[ProduceRequest], *, failed: bool) -> None:
    """End a produce with acks=0 without an answer; close the connection if it failed."""
    call.drop()
    if failed:
        call.connection.close("a produce with acks=0 failed", Cause.ACKS_NONE)


def own_records(call: Call[ProduceRequest]) -> None:
    """Copy the records out of the receive buffer, which is used again before the last slice.

    A view of each copy would take 300 bytes more: 60 MB for 200,000 partitions.
    """
    for topic in call.request.topic_data:
        for data in topic.partition_data:
            if data.records is not None:
                data.records = bytearray(data.records)
    call.data_owned = True
