"""The state of a broker at one moment, for metrics and health checks.

`Snapshot.take` copies the counters (broker/loop/stats.py) and the state of the logs.  It touches no disk and
takes about a millisecond with a thousand partitions. A snapshot does not change, so another thread may read
it.  The number of partitions in it is bounded by `kawal.metrics.partitions.max`.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from broker.catalogue.node_states import NodeState, node_states
from broker.catalogue.topics import Topic
from broker.core import Broker
from broker.handlers import APIS
from broker.loop.histogram import Histogram
from broker.loop.listener_stats import ListenerStats
from broker.loop.security_stats import SecurityStats
from broker.loop.slices import at_once, made_of
from broker.storage.partition import Partition
from wal.disk_errors import DiskError
from wal.errors import WalError

logger = logging.getLogger("kawal.broker")


class HistogramCopy(NamedTuple):
    """A histogram as it was at one moment."""

    counts: list[int]
    total: int


def copy_of(histogram: Histogram) -> HistogramCopy:
    """Return a copy, which the event loop does not change."""
    return HistogramCopy(histogram.counts[:], histogram.total)


class RequestCounts(NamedTuple):
    """The requests of one API in one version."""

    api: str
    version: int
    answered: int
    errors: dict[int, int]


class ApiCounts(NamedTuple):
    """The time and the bytes of the requests of one API, in all versions."""

    api: str
    total: HistogramCopy
    phases: dict[str, HistogramCopy]
    request_bytes: int
    response_bytes: int


class TurnCounts(NamedTuple):
    """The turns of the event loop of which one kind of work took the most."""

    work: str
    duration: HistogramCopy
    over_budget: int


class VnodeState(NamedTuple):
    """One write-ahead log."""

    name: str
    state: str
    durability: str
    segment_count: int
    size_bytes: int
    stream_count: int
    open_frame_bytes: int


class PartitionState(NamedTuple):
    """One topic-partition."""

    topic: str
    partition: int
    log_start: int
    high_watermark: int
    size_bytes: int


class ViewState(NamedTuple):
    """The counters of one view since the start."""

    name: str
    scanned: int
    matched: int
    unfit: int
    shown: int


@dataclass(slots=True)
class Snapshot:
    """Everything that is exposed, at one moment."""

    requests: list[RequestCounts]
    apis: list[ApiCounts]
    commit_ns: HistogramCopy
    commit_bytes: HistogramCopy
    commit_batches: HistogramCopy
    sync_ns: HistogramCopy
    turns: list[TurnCounts]
    longest_turn_ns: int
    counters: dict[str, int]
    gauges: dict[str, int]
    closed: dict[str, int]
    throttled: dict[str, tuple[int, int]]
    listeners: dict[str, ListenerStats]
    logins: SecurityStats
    tokens: dict[str, int]
    """Numbers of delegation tokens; empty without a secret key for them."""
    certificates_until_s: dict[str, int]
    audit: dict[str, int]
    """Numbers of the audit log; empty without one."""
    remote: dict[str, int]
    """Numbers of the copy in an object store; empty without one."""
    software: dict[tuple[str, str], int]
    internal_errors: dict[str, int]
    vnodes: list[VnodeState]
    partitions: list[PartitionState]
    views: list[ViewState]
    nodes: list[NodeState]
    """The other nodes, where there are some on several machines."""
    data_directory: str

    @classmethod
    def take(cls, broker: Broker, partitions: list[PartitionState] | None = None) -> Snapshot:
        """Copy the state of the broker, on the event loop; `partitions`: what `partition_steps` has made."""
        partitions = at_once(partition_steps(broker)) if partitions is None else partitions
        stats = broker.stats
        return cls(
            requests=[
                RequestCounts(_api_name(key >> 16), key & 0xFFFF, counted.count, dict(counted.errors))
                for key, counted in sorted(stats.requests.items())
            ],
            apis=[
                ApiCounts(
                    _api_name(key),
                    copy_of(counted.total_ns),
                    {phase: copy_of(histogram) for phase, histogram in counted.phases().items()},
                    counted.request_bytes,
                    counted.response_bytes,
                )
                for key, counted in sorted(stats.apis.items())
            ],
            commit_ns=copy_of(stats.commit_ns),
            commit_bytes=copy_of(stats.commit_bytes),
            commit_batches=copy_of(stats.commit_batches),
            sync_ns=copy_of(stats.sync_ns),
            turns=[
                TurnCounts(work.name, copy_of(work.turns_ns), work.over_budget)
                for work in stats.turns.works
                if work.turns_ns.count
            ],
            longest_turn_ns=stats.turns.recent_longest_ns(),
            counters={
                "received_bytes": stats.received_bytes,
                "sent_bytes": stats.sent_bytes,
                "connections_opened": stats.connections_opened,
                "connections_refused": stats.connections_refused,
                "commits_failed": stats.commits_failed,
                "share_dead_letters": stats.dead_letters_written,
                "share_dead_letter_failures": stats.dead_letter_failures,
                "connections_held_back": broker.memory.held_back,
                **_fetch_sessions(broker),
                **_refused_in_groups(broker),
                **_producers(broker),
                **_compaction(broker),
            },
            gauges=_gauges(broker, len(partitions)),
            closed={cause.value: count for cause, count in stats.connections_closed.items()},
            throttled={key: (count, stats.throttled_ms[key]) for key, count in stats.throttled.items()},
            listeners={name: replace(counts) for name, counts in stats.listeners.items()},
            logins=stats.logins.copy(),
            tokens={} if broker.tokens is None else broker.tokens.counts(),
            certificates_until_s=dict(stats.certificates_until_s),
            audit={} if stats.audit is None else stats.audit.counts(),
            remote=_remote(broker),
            software=dict(stats.software.counts),
            internal_errors={place.value: count for place, count in broker.internal_errors.counts.items()},
            vnodes=list(_vnodes(broker)),
            partitions=partitions,
            views=list(_views(broker, broker.config.kawal_metrics_partitions_max)),
            nodes=node_states(broker.nodes, broker.clock.turn_ms),
            data_directory=broker.store.path,
        )


def _producers(broker: Broker) -> dict[str, int]:
    return {
        "producer_records_repeated": sum(vnode.repeated_records for vnode in broker.vnodes.every),
        "producers_forgotten": sum(vnode.log.producers_forgotten for vnode in broker.vnodes.every),
    }


def _fetch_sessions(broker: Broker) -> dict[str, int]:
    cache = broker.fetch_sessions.cache
    return {"fetch_sessions_evicted": cache.evicted, "fetch_sessions_refused": cache.refused}


def _refused_in_groups(broker: Broker) -> dict[str, int]:
    return {
        "group_members_refused": broker.groups.memory.refused,
        "group_offsets_refused": broker.groups.offset_room.refused,
        "catalogue_changes_refused": broker.catalogue.room.refused,
    }


def _compaction(broker: Broker) -> dict[str, int]:
    stats = broker.compaction.stats
    return {
        "compaction_passes": stats.passes,
        "compaction_failures": stats.failures,
        "compaction_read_bytes": stats.read_bytes,
        "compaction_written_bytes": stats.written_bytes,
        "compaction_removed_records": stats.records_removed,
    }


def _remote(broker: Broker) -> dict[str, int]:
    if broker.remote is None:
        return {}
    blocks = broker.store.blocks
    usage = [vnode.log.remote_usage() for vnode in broker.vnodes.every]
    return {
        **broker.remote.numbers(broker.clock.turn_ms),
        "only_segments": sum(count for count, _ in usage),
        "only_bytes": sum(size_bytes for _, size_bytes in usage),
        "fetched_bytes": blocks.fetched_bytes,
        "served_bytes": blocks.served_bytes,
        "read_failures": blocks.failures,
        "ahead_bytes": blocks.ahead_bytes,
        "unread_bytes": blocks.unread_bytes,
    }


def _api_name(key: int) -> str:
    api = APIS.get(key)
    return str(key) if api is None else api.name


def _gauges(broker: Broker, partitions_shown: int) -> dict[str, int]:
    return {
        "connections": len(broker.connections),
        "parked_fetches": len(broker.waiters),
        "fetch_sessions": len(broker.fetch_sessions),
        "fetch_session_bytes": broker.fetch_sessions.cache.size_bytes,
        "group_member_bytes": broker.groups.memory.size_bytes,
        "group_offset_bytes": broker.groups.offset_room.size_bytes,
        "catalogue_bytes": broker.catalogue.room.size_bytes,
        "producer_bytes": sum(vnode.log.producers_bytes for vnode in broker.vnodes.every),
        "aborted_transaction_bytes": sum(vnode.log.aborted_bytes for vnode in broker.vnodes.every),
        "named_producer_bytes": sum(vnode.log.named_producers.size_bytes for vnode in broker.vnodes.every),
        "tail_cache_bytes": sum(vnode.log.tail_cache_bytes for vnode in broker.vnodes.every),
        "receive_slab_bytes": broker.receive_memory.slabs.size_bytes,
        "requests_in_work_bytes": broker.memory.requests_bytes,
        "answers_unsent_bytes": broker.memory.answers_bytes,
        "partitions_from_splits": sum(
            topic.partition_count - topic.tree.root_count
            for topic in broker.catalogue.split_topics.values()
            if topic.tree is not None
        ),
        "producer_bindings": sum(vnode.log.named_producers.total for vnode in broker.vnodes.every),
        "share_partitions_held_by_dead_letters": broker.stats.dead_letters_held,
        "topics": len(broker.catalogue.by_name),
        "partitions": broker.catalogue.partition_count,
        "orphan_streams": len(broker.topics.orphans),
        "uncompacted_partitions": broker.compaction.stats.uncleanable,
        "view_cache_bytes": broker.views.used_bytes,
        "partitions_without_metrics": broker.catalogue.partition_count - partitions_shown,
    }


def _vnodes(broker: Broker) -> Iterator[VnodeState]:
    groups = {"meta": [broker.meta], **broker.vnodes}
    for vnode in (vnode for group in groups.values() for vnode in group):
        log = vnode.log
        segment_count, size_bytes = log.usage()
        yield VnodeState(
            name=vnode.name,
            state=log.state.lower(),
            durability=log.options.durability,
            segment_count=segment_count,
            size_bytes=size_bytes,
            stream_count=log.stream_count,
            open_frame_bytes=log.open_frame_bytes,
        )


def partition_steps(broker: Broker) -> Generator[None, None, list[PartitionState]]:
    """Return the state of partitions, up to the limit: the end of a view over a log may take a look at it."""
    catalogue = broker.catalogue
    every = (
        (topic, index)
        for topic in catalogue.by_name.values()
        if topic.recorded
        for index in range(topic.partition_count)
    )
    # Topics come and go between the steps.
    shown = list(islice(every, broker.config.kawal_metrics_partitions_max))

    def state_of(place: tuple[Topic, int]) -> PartitionState | None:
        topic, index = place
        if catalogue.by_id.get(topic.topic_id) is not topic:
            return None
        partition = broker.topics.here(topic, index)
        try:
            return None if partition is None else _partition_state(partition)
        except (WalError, DiskError) as error:
            # The end of a view is looked for in the log's files.
            logger.warning("partition %d of topic %r is not in the metrics: %s", index, topic.name, error)
            return None

    made = yield from made_of(shown, state_of)
    return [state for state in made if state is not None]


def _partition_state(partition: Partition) -> PartitionState:
    return PartitionState(
        topic=partition.topic.name,
        partition=partition.index,
        log_start=partition.log_start,
        high_watermark=partition.high_watermark,
        size_bytes=partition.size_bytes,
    )


def _views(broker: Broker, count_max: int) -> Iterator[ViewState]:
    """Yield the views that were read since the start, up to the limit for partitions."""
    for name, counters in islice(broker.views.counters.items(), count_max):
        yield ViewState(name, counters.scanned, counters.matched, counters.unfit, counters.shown)


def not_ready(broker: Broker) -> list[str]:
    """Return the reasons why the broker should get no work, a sentence each; empty if it is ready."""
    reasons = ["the server is stopping"] if broker.stopping else []
    groups = {"meta": [broker.meta], **broker.vnodes}
    every = (vnode for group in groups.values() for vnode in group)
    closed = (vnode for vnode in every if vnode.log.state != "OPEN")
    reasons.extend(f"log {vnode.name} is {vnode.log.state.lower()} and takes no records" for vnode in closed)
    return reasons
