"""The speed at which a partition may be written to: kawal.partition.write.bytes.per.sec.

A bucket of one second's worth of bytes, which a write may take below zero.  Who has done so is answered when
the records are durable, told to wait until the bucket is no longer below zero, and not read until then.  Each
of several producers is told so; what one has sent already is written, and the next waits the longer for it.
Source: YDB's PartitionConfig.WriteSpeedInBytesPerSecond, and KIP-219 for the way in which clients are told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker.config.topic_settings import TopicSettings
from broker.loop.call import Call
from broker.loop.loop import Loop
from broker.loop.muting import mute
from broker.security.quota_rates import TokenBucket, Windows

if TYPE_CHECKING:
    from broker.storage.partition import Partition

WINDOWS: Final = Windows(1, 1_000)

WRITE_SPEED: Final = "partition_write_speed"
"""How metrics name the limit, among the keys of quotas."""


def count_write(
    node: Loop, call: Call[Any], response: Any, partition: Partition, settings: TopicSettings, size_bytes: int
) -> None:
    """Count what was written to a partition; the response, and the connection, wait if it was too much."""
    speed, now_ms = settings.kawal_partition_write_bytes_per_sec, node.clock.turn_ms
    bucket = partition.writes
    if bucket is None:
        bucket = partition.writes = TokenBucket(WINDOWS, speed, now_ms)
    bucket.take(size_bytes, speed, now_ms)
    wait_ms = bucket.wait_ms(speed, now_ms)
    if wait_ms:
        response.throttle_time_ms = max(response.throttle_time_ms, wait_ms)
        node.stats.throttled[WRITE_SPEED] += 1
        node.stats.throttled_ms[WRITE_SPEED] += wait_ms
        mute(call.connection, now_ms + wait_ms, node.timers)
