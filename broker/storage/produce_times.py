"""The timestamps of a produced batch: checked against limits, corrected, or set to the append time.

Source: Kafka 4.3, LogValidator; KIP-32, KIP-467, KIP-937.
"""

from __future__ import annotations

from typing import NamedTuple

from broker.config.topic_settings import TopicSettings
from broker.errors import RequestError
from broker.storage.inspection import RECORD_ERRORS_MAX, takes_long
from protocol.batch_check import TimestampOutOfRange, check_timestamps
from protocol.error_codes import ErrorCode
from protocol.errors import Malformed
from protocol.record_reader import iter_records
from protocol.records import (
    APPEND_TIME,
    NO_TIMESTAMP,
    BatchHeader,
    patch_append_time,
    patch_create_time,
)

DOUBTFUL_RECORDS_MAX = 20_000
"""The most records that are read because their batch's header gives no credible time: about 25 ms."""


class ReadTimes(NamedTuple):
    """The times that the records of a batch have, as far as they matter."""

    settings: TopicSettings
    """The settings by which they were judged."""
    greatest: int = NO_TIMESTAMP
    untimely: tuple[tuple[int, str], ...] = ()
    """The first records whose time the topic does not accept, and why."""
    flaw: str = ""
    """The reason why the batch cannot be read to its end; the error itself would keep what was opened."""


class UnreadTimes(RequestError):
    """The records must be read for their times, which takes a thread; nothing was changed."""

    def __init__(self, batch: memoryview, settings: TopicSettings, wall_ms: int) -> None:
        super().__init__(ErrorCode.INVALID_TIMESTAMP, "the times of the records were not read")
        self._batch = batch
        self._settings = settings
        self._wall_ms = wall_ms

    def made(self) -> ReadTimes:
        """Return what the records say; a thread may do it."""
        return read_times(self._batch, self._settings, self._wall_ms)


def read_times(batch: memoryview, settings: TopicSettings, wall_ms: int) -> ReadTimes:
    """Read the records of a batch whose header is not to be believed, or which are out of range (KIP-467)."""
    earliest = wall_ms - settings.message_timestamp_before_max_ms
    latest = wall_ms + settings.message_timestamp_after_max_ms
    greatest = NO_TIMESTAMP
    untimely: list[tuple[int, str]] = []
    try:
        for index, record in enumerate(iter_records(batch)):
            timestamp = record.timestamp_ms
            greatest = max(greatest, timestamp)
            if earliest <= timestamp <= latest or timestamp == NO_TIMESTAMP:
                continue
            if len(untimely) < RECORD_ERRORS_MAX:
                why = (
                    f"Timestamp {timestamp} of message with offset {record.offset} is out of range. The"
                    f" timestamp should be within [{earliest}, {latest}]"
                )
                untimely.append((index, why))
    except Malformed as error:
        return ReadTimes(settings, flaw=str(error))
    return ReadTimes(settings, greatest, tuple(untimely))


def stamp_times(
    batch: memoryview,
    header: BatchHeader,
    settings: TopicSettings,
    wall_ms: int,
    times: tuple[int, int] | None,
    read: ReadTimes | None = None,
) -> int:
    """Set the batch's timestamps as the topic says; return the append time, -1 with CreateTime.

    `times`: the earliest and latest timestamp of the records, if they have been read for it; `read`: what an
    `UnreadTimes` has made.  Raises: RequestError; UnreadTimes, one of them.
    """
    if (
        times is None
        and not settings.append_time
        and not header.attributes & APPEND_TIME
        and 0
        <= header.base_timestamp
        <= header.max_timestamp
        <= wall_ms + settings.message_timestamp_after_max_ms
        and header.base_timestamp >= wall_ms - settings.message_timestamp_before_max_ms
        and (header.record_count > 1 or header.base_timestamp == header.max_timestamp)
    ):
        return -1  # nearly every batch: what follows takes three times as long
    if header.is_append_time and (settings.append_time or header.max_timestamp == NO_TIMESTAMP):
        raise _append_time_refusal(header)
    if settings.append_time:
        patch_append_time(batch, wall_ms)
        return wall_ms
    if times is not None and not header.is_append_time:
        return _set_read_times(batch, settings, wall_ms, times, read)
    believed = header.has_plausible_max_timestamp and _is_in_time(header, settings, wall_ms)
    if not believed:
        # The header alone may be wrong: the records count.
        _refuse_many_doubtful_records(header)
        header = header._replace(max_timestamp=_timely(batch, settings, wall_ms, read))
    if header.is_append_time or not believed:
        # The log reads the header's maximum, and clients the append-time bit: both must be right.
        patch_create_time(batch, header.max_timestamp)
    return -1


def _set_read_times(
    batch: memoryview,
    settings: TopicSettings,
    wall_ms: int,
    times: tuple[int, int],
    read: ReadTimes | None,
) -> int:
    earliest, latest = times
    if (
        earliest < wall_ms - settings.message_timestamp_before_max_ms
        or latest > wall_ms + settings.message_timestamp_after_max_ms
    ):
        _timely(batch, settings, wall_ms, read)
    patch_create_time(batch, latest)
    return -1


def _is_in_time(header: BatchHeader, settings: TopicSettings, wall_ms: int) -> bool:
    try:
        check_timestamps(
            header,
            now_ms=wall_ms,
            before_max_ms=settings.message_timestamp_before_max_ms,
            after_max_ms=settings.message_timestamp_after_max_ms,
        )
    except TimestampOutOfRange:
        return False
    return True


def _refuse_many_doubtful_records(header: BatchHeader) -> None:
    """Refuse a batch whose records would take long to read; a batch of 16 KB may have two million."""
    if header.record_count > DOUBTFUL_RECORDS_MAX:
        raise RequestError(
            ErrorCode.INVALID_TIMESTAMP,
            f"the batch gives {header.max_timestamp} as its greatest timestamp, which is out of range, and"
            f" has {header.record_count} records; the records themselves are looked at if they are at most"
            f" {DOUBTFUL_RECORDS_MAX}",
        )


def _append_time_refusal(header: BatchHeader) -> RequestError:
    """Return the error for a batch with the append-time bit, which only the log may set."""
    errors = tuple(
        (index, "Producer should not set timestamp type to LogAppendTime.")
        for index in range(min(header.record_count, RECORD_ERRORS_MAX))
    )
    return RequestError(
        ErrorCode.INVALID_TIMESTAMP,
        "One or more records have been rejected due to invalid timestamp",
        record_errors=errors,
    )


def _timely(batch: memoryview, settings: TopicSettings, wall_ms: int, read: ReadTimes | None) -> int:
    """Return the greatest timestamp of the records; refuse the batch if the topic does not accept them.

    Raises: RequestError; UnreadTimes if a thread has to read them first.
    """
    if read is None or read.settings != settings:
        if takes_long(batch):
            raise UnreadTimes(batch, settings, wall_ms)
        read = read_times(batch, settings, wall_ms)
    if read.flaw:
        raise RequestError(ErrorCode.INVALID_RECORD, read.flaw)
    if read.untimely:
        raise RequestError(
            ErrorCode.INVALID_TIMESTAMP,
            "One or more records have been rejected due to invalid timestamp",
            record_errors=read.untimely,
        )
    return read.greatest
