"""The parts and the table of benchmarks/bench_splits.py."""

from __future__ import annotations

from benchmarks.bench_splits import PARTS, RATIOS, router_ns, table


def test_each_ratio_is_of_two_parts() -> None:
    assert {name for pair in RATIOS for name in pair} <= PARTS.keys()


def test_the_table_has_medians_and_ratios_by_round() -> None:
    found = {
        "plain-8 records/s": {"kawal": [100.0, 200.0, 400.0]},
        "plain-8 µs": {"kawal": [1.0, 2.0, 3.0]},
        "split-8 records/s": {"kawal": [90.0, 100.0, 400.0]},
        "split-8 µs": {"kawal": [2.0, 4.0, 6.0]},
    }
    lines = table(found).splitlines()
    assert lines[1].split() == ["plain,", "8", "partitions", "200", "2.00"]
    assert lines[2].split() == ["4", "partitions,", "all", "split", "100", "4.00"]
    assert lines[-1].split() == ["split-8", "/", "plain-8", "0.90", "0.50", "1.00"]


def test_a_topic_without_splits_has_no_router() -> None:
    assert router_ns(number=100) > 0
