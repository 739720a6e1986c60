"""Short requests for the tests of share-partitions."""

from __future__ import annotations

from groups.share.delivery import AcquireMode, Wish


def wish(member_id: str = "m1", max_records: int = 500, *, size: int = 500, exact: bool = False) -> Wish:
    mode = AcquireMode.RECORD_LIMIT if exact else AcquireMode.BATCH_OPTIMIZED
    return Wish(member_id, max_records, size, mode)
