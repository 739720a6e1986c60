"""The answers to partitions of a fetch that give no records."""

from __future__ import annotations

from uuid import UUID

import pytest

from broker.fetching.fetch_items import FetchItem
from broker.fetching.item_errors import error_data, remote_error
from protocol.error_codes import ErrorCode
from wal.errors import RemoteReadError

ITEM = FetchItem("t", UUID(int=0), 3, by_id=False)


@pytest.mark.parametrize(
    ("code", "aborted"),
    [(ErrorCode.OFFSET_OUT_OF_RANGE, None), (ErrorCode.TOPIC_AUTHORIZATION_FAILED, [])],
)
def test_only_where_it_was_tried_to_read_the_aborted_transactions_are_null(
    code: ErrorCode, aborted: list[object] | None
) -> None:
    data = error_data(ITEM, code)
    assert (data.partition_index, data.error_code, data.aborted_transactions) == (3, code, aborted)
    assert (data.high_watermark, data.last_stable_offset, data.log_start_offset) == (-1, -1, -1)


def test_an_error_of_the_object_store_is_told_as_by_kafkas_tiers(caplog: pytest.LogCaptureFixture) -> None:
    error = remote_error(ITEM, RemoteReadError("s3://b: no answer"))
    assert error.code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert "fetch of t-3 from offset" in caplog.text
    assert "s3://b: no answer" in caplog.text
