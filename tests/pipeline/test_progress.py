"""Rates, lag and the time left."""

from __future__ import annotations

import pytest

from pipeline.ledger import Totals
from pipeline.progress import WINDOW_SECONDS, Meter, Progress

TARGET = {"t": {"0": 1_000, "1": 3_000}}


def measure(meter: Meter, now: float, rows: int, *, in_flight: int = 0, landed: int = 0) -> Progress:
    return meter.measure(
        now,
        Totals(batches=1, rows=rows),
        in_flight=in_flight,
        landed={"t": {"0": landed, "1": landed}},
        target=TARGET,
    )


def test_the_first_rate_counts_from_the_start() -> None:
    progress = measure(Meter("j", started=100.0), 105.0, 400, in_flight=100, landed=200)
    assert progress.rows == 500
    assert progress.rows_per_second == 100.0


def test_the_time_left_is_for_what_is_neither_landed_nor_read() -> None:
    progress = measure(Meter("j", started=100.0), 105.0, 400, in_flight=100, landed=200)
    assert progress.lag == 800 + 2_800
    assert progress.seconds_left == pytest.approx((3_600 - 100) / 100)


def test_the_partition_furthest_behind_is_named() -> None:
    assert measure(Meter("j", 0.0), 5.0, 0, landed=900).worst == ("t", 1, 2_100)


def test_without_lag_nothing_is_worst_and_no_time_is_left() -> None:
    progress = measure(Meter("j", 0.0), 5.0, 0, landed=3_000)
    assert (progress.lag, progress.worst, progress.seconds_left) == (0, None, 0.0)


def test_without_a_rate_the_time_left_is_unknown() -> None:
    assert measure(Meter("j", 0.0), 5.0, 0).seconds_left is None


def test_the_first_rows_of_a_cold_start_promise_nothing() -> None:
    meter = Meter("j", 0.0)
    nothing_landed = Totals()
    for now, in_flight, known in ((5.0, 2, False), (10.0, 500, True)):
        progress = meter.measure(now, nothing_landed, in_flight=in_flight, landed={}, target=TARGET)
        assert (progress.seconds_left is not None) == known


def test_rows_never_go_back_when_a_batch_has_been_read_and_is_not_landed() -> None:
    meter = Meter("j", 0.0)
    assert measure(meter, 5.0, 0, in_flight=500).rows == 500
    assert measure(meter, 10.0, 0, in_flight=0).rows == 500
    assert measure(meter, 15.0, 700).rows == 700


def test_the_rate_forgets_what_is_older_than_its_window() -> None:
    meter = Meter("j", 0.0)
    for second in range(5, 105, 5):
        progress = measure(meter, float(second), 1_000 if second > 5 else 0)
    assert second > 5 + WINDOW_SECONDS
    assert progress.rows_per_second == 0.0


def test_the_newest_landed_record_is_old_only_while_others_wait() -> None:
    def behind(landed: int) -> float | None:
        return (
            Meter("j", 0.0)
            .measure(
                5.0,
                Totals(),
                in_flight=0,
                landed={"t": {"0": landed, "1": landed}},
                target=TARGET,
                newest_age_seconds=42.0,
            )
            .seconds_behind
        )

    assert (behind(900), behind(3_000)) == (42.0, 0.0)


def test_bytes_a_second_are_the_rows_at_the_mean_length_of_those_that_landed() -> None:
    run = Totals(batches=1, rows=500, payload_bytes=50_000)
    progress = Meter("j", 0.0).measure(5.0, run, in_flight=0, landed={}, target=TARGET)
    assert (progress.rows_per_second, progress.bytes_per_second) == (100.0, 10_000.0)


def test_while_the_broker_is_away_no_time_left_is_promised() -> None:
    run = Totals(batches=1, rows=500)
    progress = Meter("j", 0.0).measure(
        5.0, run, in_flight=0, landed={}, target=TARGET, away_since_ms=1_356_998_405_000
    )
    assert (progress.seconds_left, progress.away_since_ms) == (None, 1_356_998_405_000)
