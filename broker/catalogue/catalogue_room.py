"""The memory of the catalogue, and its limit: topics, settings, users, access rules, quotas, tokens.

Every client that may change the catalogue can make it grow.  While there is no room
(`kawal.catalogue.max.bytes`), a change that makes it larger is refused with POLICY_VIOLATION; what makes it
smaller, or as large as it is, goes on.  What is stored is loaded, however much it is.  Exempt are the topics
that the server makes for itself, its own settings (an operator may want to raise the limit by them),
databases and tokens, which have limits of their own (`kawal.max.delegation.tokens`), and features, which are
few.

Kafka has no such limit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from broker.catalogue.catalogue_records import (
    AclAdded,
    CatalogueRecord,
    ClientQuotas,
    GroupConfigs,
    PartitionsAdded,
    ScramCredentials,
    TopicConfigs,
    TopicCreated,
    ViewReloaded,
)
from broker.catalogue.topic import INTERNAL_TOPICS
from broker.errors import RequestError
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from broker.catalogue.snapshot_records import SnapshotRecords

NO_LIMIT: Final = 1 << 62

GROWING: Final = (
    TopicCreated,
    PartitionsAdded,
    TopicConfigs,
    ViewReloaded,
    GroupConfigs,
    ScramCredentials,
    ClientQuotas,
    AclAdded,
)
"""The records by which clients make the catalogue grow."""


class CatalogueRoom:
    """The memory that the catalogue takes, with what is on its way to the disk."""

    def __init__(self, records: SnapshotRecords) -> None:
        self._records = records
        self.limit: Callable[[], int] = lambda: NO_LIMIT
        """The most bytes that it may take, asked at every change."""
        self.planned_bytes = 0
        """What changes that are not durable yet add."""
        self.refused = 0
        """The changes that were refused so far for lack of memory."""

    @property
    def size_bytes(self) -> int:
        """The memory of the catalogue."""
        return self._records.size_bytes + self.planned_bytes

    def added_by(self, record: CatalogueRecord) -> int:
        """Return by how much a change makes the catalogue grow; 0 if it does not.

        Raises: RequestError(POLICY_VIOLATION), without room for it.
        """
        if not isinstance(record, GROWING):
            return 0
        added_bytes = max(0, self._records.added_by(record))
        limit_bytes = self.limit()
        is_own = isinstance(record, TopicCreated) and record.name in INTERNAL_TOPICS
        if not added_bytes or is_own or self.size_bytes + added_bytes <= limit_bytes:
            return added_bytes
        self.refused += 1
        raise RequestError(
            ErrorCode.POLICY_VIOLATION,
            f"this takes {added_bytes} bytes of memory more, and topics, settings, users, access rules and"
            f" quotas have {self.size_bytes} of kawal.catalogue.max.bytes={limit_bytes}: delete some, or"
            " raise the limit",
        )
