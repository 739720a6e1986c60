"""The table of benchmarks/bench_remote.py."""

from __future__ import annotations

from benchmarks.bench_remote import COLUMNS, LOADS, PARTS, table


def test_every_column_is_of_a_load() -> None:
    assert {column.split()[0] for column in COLUMNS} == set(LOADS)


def test_the_table_has_medians_and_says_who_else_used_the_machine() -> None:
    found = {
        "disk one p50 ms": {"kawal": [1.0, 3.0, 2.0]},
        "remote-10 one p50 ms": {"kawal": [11.0]},
        "remote-10 one PUTs/s": {"kawal": [80.0]},
        "disk one other cores": {"kawal": [0.2, 0.4]},
    }
    lines = table(found).splitlines()
    assert lines[2] == "| disk | 2.0 | - | - | - | - | - | - | - |"
    assert lines[3] == "| remote, PUT 10 ms | 11.0 | - | 80.0 | - | - | - | - | - |"
    assert lines[-1].startswith("the store and other programs used 0.3 cores of ")


def test_disk_is_the_one_part_without_a_store() -> None:
    assert [name for name, part in PARTS.items() if part.put_ms is None] == ["disk"]
