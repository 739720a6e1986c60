"""The APIs that Kawal serves: the list from which the ApiVersions answer and the dispatch are derived.

A handler is the function `handle(broker, call)` of the module named here; it and its messages are imported
when the first request of its kind arrives, so that the list may grow without slowing the start (docs/adr).
That takes up to 130 ms, and the codecs of each version some more, so a thread does it.  A handler returns a
response, the steps that make it, or PARKED if other code will answer the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Final

from broker.connections.message_codecs import prepare_codecs
from protocol.api_keys import ApiKey
from protocol.messages import request_type, response_type

Handler = Callable[..., Any]


class Api:
    """One served API: its version range, the range it advertises, and its handler."""

    __slots__ = (
        "_handler",
        "_prepare",
        "_request_type",
        "advertised_minimum",
        "key",
        "maximum",
        "minimum",
        "name",
        "nodes_maximum",
        "ready",
    )

    def __init__(
        self, key: ApiKey, versions: str, advertise_from: int | None = None, nodes_up_to: int | None = None
    ) -> None:
        """`nodes_up_to`: the last version that other nodes of the cluster may send."""
        first, _, last = versions.partition("-")
        self.key = key
        self.name = key.name.lower()
        self.minimum = int(first)
        self.maximum = int(last or first)
        self.nodes_maximum = self.maximum if nodes_up_to is None else nodes_up_to
        self.advertised_minimum = self.minimum if advertise_from is None else advertise_from
        self.ready: set[int] = set()
        """The versions whose requests need nothing more to be imported or made."""
        self._handler: Handler | None = None
        self._prepare: Handler | None = None
        self._request_type: type[Any] | None = None

    def load(self, versions: Iterable[int] | None = None) -> None:
        """Import and make everything that requests of these versions need and their answers; None: of all."""
        answers = response_type(self.key)
        self.handler()
        if self._prepare is None:
            self._prepare = getattr(import_module(f"broker.handlers.{self.name}"), "prepare", None)
        for version in range(self.minimum, self.nodes_maximum + 1) if versions is None else versions:
            prepare_codecs(self.request_type(), answers, version)
            self.ready.add(version)

    def prepare(self, request: Any) -> None:
        """Do what can be done with a wide request apart from the broker, in the thread that has decoded it.

        The handler's module may have a function `prepare(request)` for it.
        """
        if self._prepare is not None:
            self._prepare(request)

    def handler(self) -> Handler:
        """Return the function `handle(broker, call)`, imported at its first use."""
        if self._handler is None:
            self._handler = self.function("handle")
        return self._handler

    def function(self, name: str) -> Handler:
        """Return a function of the handler's module."""
        found: Handler = getattr(import_module(f"broker.handlers.{self.name}"), name)
        return found

    def request_type(self) -> type[Any]:
        """Return the dataclass that the API's requests decode to."""
        if self._request_type is None:
            self._request_type = request_type(self.key)
        return self._request_type


APIS: dict[int, Api] = {
    api.key: api
    for api in (
        # Produce lists min 0 so that librdkafka < 2.11 compresses (KAFKA-18659), and serves v3 and later.
        Api(ApiKey.PRODUCE, "3-13", advertise_from=0),
        Api(ApiKey.FETCH, "4-18"),
        Api(ApiKey.LIST_OFFSETS, "1-11"),
        Api(ApiKey.METADATA, "0-13"),
        Api(ApiKey.FIND_COORDINATOR, "0-6"),
        Api(ApiKey.API_VERSIONS, "0-4"),
        Api(ApiKey.SASL_HANDSHAKE, "0-1"),
        Api(ApiKey.SASL_AUTHENTICATE, "0-2"),
        Api(ApiKey.CREATE_TOPICS, "2-7"),
        Api(ApiKey.DELETE_TOPICS, "1-6"),
        Api(ApiKey.INIT_PRODUCER_ID, "0-5"),
        Api(ApiKey.OFFSET_FOR_LEADER_EPOCH, "2-4"),
        # v4 and v5 are for brokers; clients that see them listed send what only brokers may (platformatic).
        Api(ApiKey.ADD_PARTITIONS_TO_TXN, "0-3", nodes_up_to=5),
        Api(ApiKey.ADD_OFFSETS_TO_TXN, "0-4"),
        Api(ApiKey.END_TXN, "0-5"),
        Api(ApiKey.WRITE_TXN_MARKERS, "1-2"),
        Api(ApiKey.TXN_OFFSET_COMMIT, "0-5"),
        Api(ApiKey.DESCRIBE_TRANSACTIONS, "0"),
        Api(ApiKey.LIST_TRANSACTIONS, "0-2"),
        Api(ApiKey.DESCRIBE_CONFIGS, "1-4"),
        Api(ApiKey.ALTER_CONFIGS, "0-2"),
        Api(ApiKey.INCREMENTAL_ALTER_CONFIGS, "0-1"),
        Api(ApiKey.CREATE_PARTITIONS, "0-3"),
        Api(ApiKey.DESCRIBE_CLUSTER, "0-2"),
        Api(ApiKey.OFFSET_COMMIT, "2-10"),
        Api(ApiKey.OFFSET_FETCH, "1-10"),
        Api(ApiKey.JOIN_GROUP, "0-9"),
        Api(ApiKey.HEARTBEAT, "0-4"),
        Api(ApiKey.LEAVE_GROUP, "0-5"),
        Api(ApiKey.SYNC_GROUP, "0-5"),
        Api(ApiKey.DESCRIBE_GROUPS, "0-6"),
        Api(ApiKey.LIST_GROUPS, "0-5"),
        Api(ApiKey.DELETE_GROUPS, "0-2"),
        Api(ApiKey.OFFSET_DELETE, "0"),
        Api(ApiKey.CONSUMER_GROUP_HEARTBEAT, "0-1"),
        Api(ApiKey.CONSUMER_GROUP_DESCRIBE, "0-1"),
        Api(ApiKey.SHARE_GROUP_HEARTBEAT, "1"),
        Api(ApiKey.SHARE_GROUP_DESCRIBE, "1"),
        Api(ApiKey.SHARE_FETCH, "1-2"),
        Api(ApiKey.SHARE_ACKNOWLEDGE, "1-2"),
        Api(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, "0-1"),
        Api(ApiKey.ALTER_SHARE_GROUP_OFFSETS, "0"),
        Api(ApiKey.DELETE_SHARE_GROUP_OFFSETS, "0"),
        Api(ApiKey.DELETE_RECORDS, "0-2"),
        Api(ApiKey.DESCRIBE_ACLS, "1-3"),
        Api(ApiKey.CREATE_ACLS, "1-3"),
        Api(ApiKey.DELETE_ACLS, "1-3"),
        Api(ApiKey.ALTER_REPLICA_LOG_DIRS, "1-2"),
        Api(ApiKey.DESCRIBE_LOG_DIRS, "1-5"),
        Api(ApiKey.ELECT_LEADERS, "0-2"),
        Api(ApiKey.ALTER_PARTITION_REASSIGNMENTS, "0-1"),
        Api(ApiKey.LIST_PARTITION_REASSIGNMENTS, "0"),
        Api(ApiKey.DESCRIBE_CLIENT_QUOTAS, "0-1"),
        Api(ApiKey.ALTER_CLIENT_QUOTAS, "0-1"),
        Api(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, "0"),
        Api(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, "0"),
        Api(ApiKey.CREATE_DELEGATION_TOKEN, "1-3"),
        Api(ApiKey.RENEW_DELEGATION_TOKEN, "1-2"),
        Api(ApiKey.EXPIRE_DELEGATION_TOKEN, "1-2"),
        Api(ApiKey.DESCRIBE_DELEGATION_TOKEN, "1-3"),
        Api(ApiKey.DESCRIBE_QUORUM, "0-2"),
        Api(ApiKey.UPDATE_FEATURES, "0-2"),
        Api(ApiKey.DESCRIBE_PRODUCERS, "0"),
        Api(ApiKey.LIST_CONFIG_RESOURCES, "0-1"),
        Api(ApiKey.DESCRIBE_TOPIC_PARTITIONS, "0"),
        # Kawal's own APIs: served to its command line, never advertised.
        Api(ApiKey.KAWAL_DATABASES, "0"),
        Api(ApiKey.KAWAL_GROUPS, "0"),
        Api(ApiKey.KAWAL_CONNECTIONS, "0"),
        Api(ApiKey.KAWAL_TOPICS, "0"),
        Api(ApiKey.KAWAL_PRODUCERS, "0"),
        Api(ApiKey.KAWAL_QUEUES, "0"),
        Api(ApiKey.KAWAL_QUEUE_CHANGES, "0"),
        Api(ApiKey.KAWAL_MESSAGES, "0"),
        # For the other nodes of the cluster alone.
        Api(ApiKey.KAWAL_FOLLOW, "0"),
        Api(ApiKey.ENVELOPE, "0"),
        Api(ApiKey.ALLOCATE_PRODUCER_IDS, "0"),
        Api(ApiKey.KAWAL_SHARE_RECORDS, "0"),
        Api(ApiKey.KAWAL_SHARE_STATES, "0"),
        Api(ApiKey.KAWAL_GREET, "0"),
        Api(ApiKey.KAWAL_AUDIT, "0"),
        Api(ApiKey.KAWAL_STORAGE, "0"),
        Api(ApiKey.KAWAL_LEDGERS, "0"),
        Api(ApiKey.KAWAL_POLLS, "0"),
        Api(ApiKey.KAWAL_PROGRESS, "0"),
        Api(ApiKey.KAWAL_READS, "0"),
    )
}

OF_NODES: Final = frozenset(
    {
        ApiKey.KAWAL_FOLLOW,
        ApiKey.ENVELOPE,
        ApiKey.ALLOCATE_PRODUCER_IDS,
        ApiKey.KAWAL_SHARE_RECORDS,
        ApiKey.KAWAL_SHARE_STATES,
        ApiKey.KAWAL_GREET,
        ApiKey.KAWAL_AUDIT,
        ApiKey.KAWAL_STORAGE,
        ApiKey.KAWAL_LEDGERS,
        ApiKey.KAWAL_POLLS,
        ApiKey.KAWAL_PROGRESS,
        ApiKey.KAWAL_READS,
    }
)
"""The APIs that are served to the other nodes of the cluster alone, and never advertised."""

JOINED: Final = frozenset(
    {
        ApiKey.KAWAL_DATABASES,
        ApiKey.KAWAL_GROUPS,
        ApiKey.KAWAL_CONNECTIONS,
        ApiKey.KAWAL_PRODUCERS,
        ApiKey.KAWAL_MESSAGES,
    }
)
"""The APIs that show what every node knows in part: a node asks the others, and joins their answers."""

FORWARDED: Final = frozenset(
    {
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.CREATE_ACLS,
        ApiKey.DELETE_ACLS,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        ApiKey.ALTER_CLIENT_QUOTAS,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ApiKey.UPDATE_FEATURES,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.KAWAL_DATABASES,
        ApiKey.KAWAL_TOPICS,
    }
)
"""The APIs whose requests nodes send to the controller: those that change the
catalogue, and the question about its log."""
