"""The wire format of simulated share members: acknowledgements in batches, records, and errors."""

from __future__ import annotations

from typing import Any, Final

from protocol.error_codes import ErrorCode as E
from protocol.record_reader import iter_records
from protocol.records import check_crc, iter_batches, read_batch_header

BUSY: Final = frozenset(
    {E.COORDINATOR_LOAD_IN_PROGRESS, E.COORDINATOR_NOT_AVAILABLE, E.NOT_COORDINATOR, E.KAFKA_STORAGE_ERROR}
)
"""The errors of a server that fails or starts."""

AWAY: Final = frozenset({E.UNKNOWN_MEMBER_ID, E.FENCED_MEMBER_EPOCH, E.GROUP_ID_NOT_FOUND})
"""The errors after which a member joins anew."""

NO_SESSION: Final = frozenset({E.SHARE_SESSION_NOT_FOUND, E.INVALID_SHARE_SESSION_EPOCH})

NOT_HELD: Final = frozenset({E.INVALID_RECORD_STATE, E.INVALID_REQUEST, E.GROUP_ID_NOT_FOUND})
"""The errors about records that a member does not have, or no longer."""


def batches(kind: Any, said: dict[int, int]) -> list[Any]:
    """Return acknowledgements in batches: one for each row of offsets, with one type or one for each."""
    rows: list[list[int]] = []
    for offset in sorted(said):
        if rows and rows[-1][-1] == offset - 1:
            rows[-1].append(offset)
        else:
            rows.append([offset])
    found = []
    for row in rows:
        types = [said[offset] for offset in row]
        if len(set(types)) == 1:
            types = types[:1]
        found.append(kind(first_offset=row[0], last_offset=row[-1], acknowledge_types=types))
    return found


def values_in(records: Any) -> dict[int, bytes]:
    """Return the values of the records of an answer by offset; control records are none."""
    values: dict[int, bytes] = {}
    for batch in iter_batches(bytes(records or b"")):
        assert check_crc(batch), "a batch has a wrong CRC"
        if not read_batch_header(batch).is_control:
            values.update((record.offset, bytes(record.value or b"")) for record in iter_records(batch))
    return values
