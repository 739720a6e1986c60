"""Guards: limits for administrative requests, and settings that keep topics and databases from being deleted.

    guard                              where                                    refusal
    kawal.max.partitions.per.request   CreateTopics, CreatePartitions           POLICY_VIOLATION for all
    kawal.max.partitions               whatever adds partitions                 POLICY_VIOLATION
    max.partitions of a database       the same, for topics in it               POLICY_VIOLATION
    kawal.max.views                    CreateTopics of a view, kawal.quarantine POLICY_VIOLATION
    kawal.deletion.protected           DeleteTopics, DeleteRecords              POLICY_VIOLATION
    deletion.protected of a database   the same for its topics, DROP DATABASE   POLICY_VIOLATION
    kawal.drop.policy, drop.policy     DeleteTopics of what groups subscribe to POLICY_VIOLATION
    controller_mutation_rate (a quota) CreateTopics, CreatePartitions, DeleteTopics
                                                                                THROTTLING_QUOTA_EXCEEDED

Protection is not a permission: a client that may alter configurations can end it.  It stops the deletion of
the wrong thing.  Retention and compaction go on.  Source: for the limit of one request,
ReplicationControlManager.validateTotalNumberOfPartitions of Kafka 4.3, which has 10,000 fixed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from broker.config.config import Config
from broker.config.kawal_topic_keys import DROP_POLICY_KEY, PROTECTED_KEY
from broker.errors import RequestError
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker.catalogue.databases import Database
    from broker.catalogue.topics import Catalogue, Topic
    from broker.loop.call import Call

NAMED_MAX = 10
"""The most topics that a refusal names."""

TRUE = "true"
"""A boolean as it is kept: settings are canonical text."""


def check_request_size(counts: Iterable[int], config: Config) -> None:
    """Refuse a request whose topics ask for too many partitions together.

    `counts` has those of each topic, none of them negative.

    Raises: RequestError(POLICY_VIOLATION).
    """
    asked, limit = sum(counts), config.kawal_max_partitions_per_request
    if asked > limit:
        raise RequestError(
            ErrorCode.POLICY_VIOLATION,
            f"Excessively large number of partitions per request: {asked} were asked for, and"
            f" kawal.max.partitions.per.request={limit}.  Use several requests.",
        )


def check_quota(call: Call[Any], partitions: int) -> None:
    """Refuse a change of so many partitions to a client that has made too many of late.

    Raises: RequestError(THROTTLING_QUOTA_EXCEEDED).
    """
    if call.changes is not None and call.changes.refuses(partitions):
        raise RequestError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "The throttling quota has been exceeded.")


def check_room(added: int, database: str, catalogue: Catalogue, config: Config) -> None:
    """Refuse more partitions than the node, or the database, may hold.

    Raises: RequestError(POLICY_VIOLATION).
    """
    if catalogue.partition_count + added > config.kawal_max_partitions:
        raise RequestError(
            ErrorCode.POLICY_VIOLATION,
            f"{added} more partitions would exceed kawal.max.partitions={config.kawal_max_partitions}"
            f" ({catalogue.partition_count} exist).",
        )
    limit = catalogue.databases[database].configs.get("max.partitions")
    if limit is not None and catalogue.partitions_of[database] + added > int(limit):
        raise RequestError(
            ErrorCode.POLICY_VIOLATION,
            f"{added} more partitions would exceed max.partitions={limit} of database {database!r}"
            f" ({catalogue.partitions_of[database]} exist).",
        )


def check_view_room(catalogue: Catalogue, config: Config) -> None:
    """Refuse one view more than the node may have.  Raises: RequestError(POLICY_VIOLATION)."""
    limit = config.kawal_max_views
    if limit and catalogue.view_count >= limit:
        raise RequestError(
            ErrorCode.POLICY_VIOLATION,
            f"one more view would exceed kawal.max.views={limit}; drop one, or set more (0: no limit)",
        )


def check_deletable(topic: Topic, catalogue: Catalogue, config: Config) -> None:
    """Refuse to delete a protected topic or its records; the nearest setting counts.

    Raises: RequestError(POLICY_VIOLATION), which names the setting that protects the topic.
    """
    own = topic.configs.get(PROTECTED_KEY.name)
    if own is not None:
        if own == TRUE:
            raise _protected(f"topic {topic.name!r}", f"its {PROTECTED_KEY.name}=true", "")
        return
    source = _protection_of(catalogue.databases[topic.database], config)
    if source:
        raise _protected(f"topic {topic.name!r}", source, f", or give the topic {PROTECTED_KEY.name}=false")


def check_droppable(database: Database, config: Config) -> None:
    """Refuse to drop a protected database.  Raises: RequestError(POLICY_VIOLATION)."""
    source = _protection_of(database, config)
    if source:
        raise _protected(f"database {database.name!r}", source, "")


def drop_policy(topic: Topic, catalogue: Catalogue, config: Config) -> tuple[str, str]:
    """Return whether the topic may be deleted while groups subscribe to it, and the setting that says so.

    The policy is `always` or `refuse`; the nearest setting counts: the topic's, that of the database that
    holds its records or those that it shows, or the server's.
    """
    own = topic.configs.get(DROP_POLICY_KEY.name)
    if own is not None:
        return own, DROP_POLICY_KEY.name
    database = catalogue.databases[catalogue.database_of(topic)]
    policy = database.configs.get("drop.policy")
    if policy is not None:
        return policy, f"drop.policy of database {database.name!r}"
    return config.kawal_drop_policy, DROP_POLICY_KEY.name


def _protection_of(database: Database, config: Config) -> str:
    """Return the setting that protects what is in the database; "" when none does."""
    own = database.configs.get("deletion.protected")
    if own is not None:
        return f"deletion.protected=true of database {database.name!r}" if own == TRUE else ""
    return f"{PROTECTED_KEY.name}=true of the server" if config.kawal_deletion_protected else ""


def _protected(what: str, source: str, otherwise: str) -> RequestError:
    return RequestError(
        ErrorCode.POLICY_VIOLATION,
        f"{what} is protected from deletion by {source}; set that to false first{otherwise}",
    )


def check_empty(name: str, inside: Collection[str]) -> None:
    """Refuse to drop a database that has topics or views.  Raises: RequestError(POLICY_VIOLATION)."""
    if inside:
        shown = ", ".join(map(repr, sorted(inside)[:NAMED_MAX]))
        more = f" and {len(inside) - NAMED_MAX} more" if len(inside) > NAMED_MAX else ""
        text = f"database {name!r} has topics or views: {shown}{more}; delete them first"
        raise RequestError(ErrorCode.POLICY_VIOLATION, text)
