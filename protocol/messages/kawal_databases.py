"""KawalDatabases (30000): list, create, alter and drop databases; Kafka has no such thing."""

from __future__ import annotations

from enum import IntEnum

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Int8, Int16, Int32, Int64, String, message, struct, wire


class DatabaseAction(IntEnum):
    """The actions that a request can ask for."""

    DESCRIBE = 0
    CREATE = 1
    ALTER = 2
    DROP = 3
    SPLIT = 4
    """Add a vnode, on which new topics and partitions lie as well."""


@struct
class DatabaseSetting:
    """One setting, by our name or TDengine's."""

    name: str = wire(String)
    value: str | None = wire(String, nullable="0+")  # ALTER: null removes the setting


@struct
class DatabaseItem:
    """One database of a request."""

    name: str = wire(String)
    settings: list[DatabaseSetting] = wire(ArrayOf(DatabaseSetting))


@message(api=ApiKey.KAWAL_DATABASES, versions="0", flexible="0+")
class KawalDatabasesRequest:
    """A request to do one thing with some databases.

    Source: Kawal's own.
    """

    action: int = wire(Int8)  # a DatabaseAction
    databases: list[DatabaseItem] | None = wire(ArrayOf(DatabaseItem), nullable="0+")  # null: all
    validate_only: bool = wire(Bool, default=False)


@struct
class DescribedSetting:
    """One setting of a database with its effective value."""

    name: str = wire(String)
    value: str = wire(String)
    is_default: bool = wire(Bool)  # the server's value, not the database's own


@struct
class VnodeState:
    """One vnode of a database; versions are those of its log, the last one not included."""

    name: str = wire(String)
    first_version: int = wire(Int64)
    next_version: int = wire(Int64)
    size_bytes: int = wire(Int64)
    stream_count: int = wire(Int32)
    state: str = wire(String)


@struct
class DatabaseResult:
    """The outcome for one database and its state now; a dropped or refused database has no settings."""

    name: str = wire(String)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    vnodes: int = wire(Int32, default=0)
    created_ms: int = wire(Int64, default=0)
    directory: str = wire(String, default="")
    topic_count: int = wire(Int32, default=0)
    view_count: int = wire(Int32, default=0)
    size_bytes: int = wire(Int64, default=0)
    settings: list[DescribedSetting] = wire(ArrayOf(DescribedSetting))
    vnode_states: list[VnodeState] = wire(ArrayOf(VnodeState), tag=0, default=[])


@message(api=ApiKey.KAWAL_DATABASES, versions="0", flexible="0+")
class KawalDatabasesResponse:
    """The outcome for each database, in the order of the request, or by name for all of them.

    Source: Kawal's own.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    databases: list[DatabaseResult] = wire(ArrayOf(DatabaseResult))
    silent_nodes: list[int] = wire(ArrayOf(Int32), tag=0, default=[])
    """Nodes of the cluster that have not answered: what they know is missing."""
