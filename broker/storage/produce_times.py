"""The timestamps of a produced batch: checked against limits, corrected, or set to the append time.

Source: Kafka 4.3, LogValidator; KIP-32, KIP-467, KIP-937.
"""

from __future__ import annotations

from broker.config.topic_settings import TopicSettings
from broker.errors import RequestError
from broker.storage.inspection import RECORD_ERRORS_MAX
from protocol.batch_check import TimestampOutOfRange, check_timestamps
from protocol.error_codes import ErrorCode
from protocol.record_reader import iter_records
from protocol.records import NO_TIMESTAMP, BatchHeader, patch_append_time, patch_create_time
from protocol.timestamp_lookup import corrected_max_timestamp

DOUBTFUL_RECORDS_MAX = 20_000
"""The most records that are read because their batch's header gives no credible time: about 25 ms."""


def stamp_times(
    batch: memoryview,
    header: BatchHeader,
    settings: TopicSettings,
    wall_ms: int,
    times: tuple[int, int] | None,
) -> int:
    """Set the batch's timestamps as the topic says; return the append time, -1 with CreateTime.

    `times`: the earliest and latest timestamp of the records, if they have been read for it.
    """
    if header.is_append_time and (settings.append_time or header.max_timestamp == NO_TIMESTAMP):
        raise _append_time_refusal(header)
    if settings.append_time:
        patch_append_time(batch, wall_ms)
        return wall_ms
    if times is not None and not header.is_append_time:
        return _set_read_times(batch, settings, wall_ms, times)
    believed = header.has_plausible_max_timestamp and _is_in_time(header, settings, wall_ms)
    if not believed:
        # The header alone may be wrong: the records count.
        _refuse_many_doubtful_records(header)
        header = header._replace(max_timestamp=corrected_max_timestamp(batch))
        if not _is_in_time(header, settings, wall_ms):
            _refuse_untimely_records(batch, settings, wall_ms)
    if header.is_append_time or not believed:
        # The log reads the header's maximum, and clients the append-time bit: both must be right.
        patch_create_time(batch, header.max_timestamp)
    return -1


def _set_read_times(batch: memoryview, settings: TopicSettings, wall_ms: int, times: tuple[int, int]) -> int:
    earliest, latest = times
    if (
        earliest < wall_ms - settings.message_timestamp_before_max_ms
        or latest > wall_ms + settings.message_timestamp_after_max_ms
    ):
        _refuse_untimely_records(batch, settings, wall_ms)
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


def _refuse_untimely_records(batch: memoryview, settings: TopicSettings, wall_ms: int) -> None:
    """Name the records whose time the topic does not accept (KIP-467); only now is the batch opened."""
    earliest = wall_ms - settings.message_timestamp_before_max_ms
    latest = wall_ms + settings.message_timestamp_after_max_ms
    errors = [
        (
            index,
            f"Timestamp {record.timestamp_ms} of message with offset {record.offset} is out of range. The"
            f" timestamp should be within [{earliest}, {latest}]",
        )
        for index, record in enumerate(iter_records(batch))
        if record.timestamp_ms != NO_TIMESTAMP and not earliest <= record.timestamp_ms <= latest
    ]
    if errors:
        raise RequestError(
            ErrorCode.INVALID_TIMESTAMP,
            "One or more records have been rejected due to invalid timestamp",
            record_errors=tuple(errors[:RECORD_ERRORS_MAX]),
        )
