"""ListOffsets: v1-11.

Behaviour: finds latest (-1; the last stable offset for read_committed), earliest (-2), the record of the
largest timestamp (-3, v7), earliest local (-4, v8), last tiered (-5, v9) and earliest pending upload (-6,
v11; both -1 without remote.storage.enable), or the first record with a timestamp at or after the one given.
A lookup by time and -3 read one batch; all others are answered from memory and indexes.  For read_committed
no record at or after the last stable offset is found.  Another negative timestamp
answers 35 before anything is looked up; a partition named twice answers 42 once.
Differences from Apache Kafka: latest is the end of the durable records.
Version notes: v2 isolation level; v4 leader epochs (KIP-320); v6 flexible; v10 timeout (ignored).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from typing import TYPE_CHECKING, Final

from broker.errors import RequestError, storage_error
from broker.fetching.fetch_reader import READ_COMMITTED
from broker.loop.call import Call
from broker.loop.slices import (
    ITEMS_PER_SLICE,
    Offload,
    Pace,
    Until,
    WaitingSteps,
    chunks,
    emptied,
    in_slices,
    size_of,
)
from broker.storage.leader_epochs import check_leader_epoch, epoch_of
from broker.storage.partition import Partition
from broker.storage.remote_waits import when_fetched
from broker.storage.timestamps import first_steps, largest_steps
from broker.view_topics.view_partition import ViewPartition
from protocol.error_codes import ErrorCode
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from wal.disk import DiskError
from wal.errors import WalError

if TYPE_CHECKING:
    from broker.core import Broker

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = -1, -2, -3, -4, -5, -6

TIERED: Final = (EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING)

LEADER_EPOCH_SINCE: Final = 4

NEVER: Final = 1 << 15
_SINCE: Final = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING: 11,
}
"""The first version that knows a negative timestamp; all others answer UNSUPPORTED_VERSION."""


COUNTED_PER_STEP: Final = 250
"""The partitions that are counted, to find those asked for twice, between two looks at the time."""


def handle(broker: Broker, call: Call[ListOffsetsRequest]) -> ListOffsetsResponse | WaitingSteps:
    """Answer each partition on its own."""
    topics, steps = call.request.topics, _answer_all(broker, call)
    count = size_of(topics, lambda topic: topic.partitions)
    if count <= ITEMS_PER_SLICE and any(_is_view(broker, topic.name) for topic in topics):
        # A lookup by time may walk the whole log of its source.
        return steps
    answer: ListOffsetsResponse | WaitingSteps = in_slices(steps, count)
    return answer


def _is_view(broker: Broker, name: str) -> bool:
    topic = broker.catalogue.find(name)
    return topic is not None and topic.view is not None


def _answer_all(broker: Broker, call: Call[ListOffsetsRequest]) -> WaitingSteps:
    request = call.request
    asked: Counter[tuple[str, int]] = Counter()
    pace = Pace(COUNTED_PER_STEP)
    for topic in request.topics:
        for part in chunks(topic.partitions, per_step=COUNTED_PER_STEP):
            asked.update((topic.name, partition.partition_index) for partition in part)
            if pace.due(len(part)):
                yield None
        if pace.due():
            yield None
    refused: set[tuple[str, int]] = set()
    response = ListOffsetsResponse(topics=[])
    pace = Pace()
    for topic in request.topics:
        answers = ListOffsetsTopicResponse(name=topic.name, partitions=[])
        response.topics.append(answers)
        if pace.due():
            yield None
        for item in topic.partitions:
            if pace.due():
                yield None
            key = topic.name, item.partition_index
            if key in refused:
                continue
            try:
                if asked[key] > 1:
                    refused.add(key)
                    raise RequestError(ErrorCode.INVALID_REQUEST)
                answer = yield from _answer(broker, call, topic.name, item)
                answers.partitions.append(answer)
            except RequestError as error:
                answers.partitions.append(
                    ListOffsetsPartitionResponse(partition_index=item.partition_index, error_code=error.code)
                )
    yield from emptied(asked, refused)
    return response


def _answer(
    broker: Broker, call: Call[ListOffsetsRequest], name: str, item: ListOffsetsPartition
) -> Generator[Until | None, None, ListOffsetsPartitionResponse]:
    if item.timestamp < 0 and call.version < _SINCE.get(item.timestamp, NEVER):
        raise RequestError(ErrorCode.UNSUPPORTED_VERSION)
    topic = broker.catalogue.find(name)
    if topic is None:
        raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    partition = broker.topics.partition(topic, item.partition_index)
    current = broker.topics.leader_epoch
    check_leader_epoch(partition, item.current_leader_epoch, current, is_alone=broker.nodes.count == 1)
    if isinstance(partition, ViewPartition):
        yield from partition.settle()
    read_committed = call.request.isolation_level == READ_COMMITTED
    offload = broker.scheduler.offload
    if item.timestamp in TIERED:
        timestamp, offset = -1, (yield from _tiered_steps(broker, partition, item.timestamp))
    else:
        timestamp, offset = yield from _find(
            partition, item.timestamp, offload, read_committed=read_committed
        )
    return ListOffsetsPartitionResponse(
        partition_index=item.partition_index,
        timestamp=timestamp,
        offset=offset,
        leader_epoch=(
            epoch_of(partition, offset, current) if offset >= 0 and call.version >= LEADER_EPOCH_SINCE else -1
        ),
    )


def _tiered_steps(broker: Broker, partition: Partition, timestamp: int) -> Generator[Until, None, int]:
    """Find the same, once what it needs of the object store has come.  Raises: RequestError."""
    try:
        return (yield from when_fetched(lambda: _find_tiered(broker, partition, timestamp)))
    except (WalError, DiskError) as error:
        raise storage_error(error) from error


def _find_tiered(broker: Broker, partition: Partition, timestamp: int) -> int:
    """Return the offset that tells how a partition is divided between disk and object store; -1: none."""
    log, start = partition.vnode.log, partition.log_start
    is_stored = not isinstance(partition, ViewPartition)
    if timestamp == EARLIEST_LOCAL:
        return max(start, log.local_start(partition.stream_id)) if is_stored else start
    copy = broker.remote
    if copy is None or not is_stored or not broker.topics.settings(partition.topic).remote_storage_enable:
        return -1
    end = log.end_in(partition.stream_id, copy.uploaded_in(partition.vnode))
    if timestamp == LATEST_TIERED:
        return -1 if end is None else end - 1
    return max(start, end or 0)


def _find(
    partition: Partition, timestamp: int, offload: Offload, *, read_committed: bool
) -> Generator[Until | None, None, tuple[int, int]]:
    """Find (timestamp of the record, its offset), -1 for what does not exist."""
    match timestamp:
        case -1:
            return -1, partition.last_stable_offset if read_committed else partition.high_watermark
        case -2:
            return -1, partition.log_start
        case -3:
            found = yield from largest_steps(partition, offload)
        case _:
            found = yield from first_steps(partition, timestamp, offload)
    if read_committed and found[1] >= partition.last_stable_offset:
        return -1, -1
    return found
