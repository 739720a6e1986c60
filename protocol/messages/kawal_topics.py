"""KawalTopics (30003): list, drop and reload topics as TDengine's statements do; Kafka's APIs have less."""

from __future__ import annotations

from enum import IntEnum

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Int8, Int16, Int32, Int64, String, message, struct, wire


class TopicAction(IntEnum):
    """The actions that a request can ask for."""

    DESCRIBE = 0
    DROP = 1
    RELOAD = 2
    SPLIT = 3


@struct
class TopicItem:
    """One topic of a request.

    `statement` is the new definition of a view that is to be reloaded, `partition` the one to be split.
    """

    name: str = wire(String)
    statement: str | None = wire(String, nullable="0+", default=None)
    partition: int = wire(Int32, "0+", tag=0, default=-1)


@message(api=ApiKey.KAWAL_TOPICS, versions="0", flexible="0+")
class KawalTopicsRequest:
    """A request to do one thing with some topics.

    Source: Kawal's own; the actions are TDengine's SHOW TOPICS, DROP TOPIC FORCE and RELOAD TOPIC.
    """

    action: int = wire(Int8)  # a TopicAction
    topics: list[TopicItem] | None = wire(ArrayOf(TopicItem), nullable="0+", default=None)  # null: all
    force: bool = wire(Bool, default=False)  # DROP: whatever subscribes to it


@struct
class SplitPartition:
    """One partition of a topic whose partitions split, or what is left of one before a split."""

    partition: int = wire(Int32)
    parent: int = wire(Int32, default=-1)
    """The partition that it was split from; -1 for one that the topic was made with."""
    parent_cut: int = wire(Int64, default=-1)
    """The offset in the parent at which that was."""
    start: int = wire(Int64, default=0)
    """The log start."""
    end: int = wire(Int64, default=-1)
    """The offset at which it was split, of an inactive part; -1 of an active one."""
    low: int = wire(Int64, default=0)
    """The first place of its keys, in the range of its root."""
    high: int = wire(Int64, default=0)
    """The place after the last one."""
    root: int = wire(Int32, default=-1)
    bytes_per_second: int = wire(Int64, default=-1)
    """The write speed; -1: not known."""
    why_not: str = wire(String, default="")
    """The reason why it was not split when it should have been."""


@struct
class TopicResult:
    """The outcome for one topic and its state now; a dropped or refused topic has its name only."""

    name: str = wire(String)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    topic_id: str = wire(String, default="")
    database: str = wire(String, default="")
    """The database that holds the topic's records, or those that a view shows."""
    partitions: int = wire(Int32, default=0)
    created_ms: int = wire(Int64, default=0)
    kind: str = wire(String, default="")
    """The kind: log for a topic that stores records, else that of the view's definition."""
    source: str = wire(String, default="")
    statement: str = wire(String, default="")
    meta: str = wire(String, default="")
    """The part of the changes that a view shows: none, with or only; "" for a log."""
    schema: str = wire(String, default="")
    columns: str = wire(String, default="")
    """The declared columns of a log, as kawal.columns has them."""
    value_format: str = wire(String, "0+", tag=0, default="")
    """The form of a log's values, as kawal.value.format has it; "" for JSON."""
    tree: list[SplitPartition] = wire(ArrayOf(SplitPartition), "0+", tag=1, default=[])
    """The partitions of a topic whose partitions split, and what is left of them from before a split."""


@message(api=ApiKey.KAWAL_TOPICS, versions="0", flexible="0+")
class KawalTopicsResponse:
    """The outcome for each topic, in the order of the request, or by name for all of them.

    Source: Kawal's own.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    topics: list[TopicResult] = wire(ArrayOf(TopicResult))
