"""The figures of benchmarks/gate_in_process.py."""

from __future__ import annotations

from benchmarks.gate_in_process import added


def test_single_pairs_that_swing_do_not_move_the_figure() -> None:
    pairs = [(1_000, 500), *((1_000, 1_000 + number) for number in range(38)), (1_000, 9_000)]
    found = added("g", pairs)
    assert {name: round(figure, 4) for name, figure in found.items()} == {
        "g": 1.0185,
        "g, from": 1.011,
        "g, to": 1.026,
        "g, us without": 1.0,
    }


def test_the_difference_of_a_pair_counts_and_not_how_fast_the_machine_was_then() -> None:
    assert added("g", [(1_000, 1_010), (5_000, 5_010), (1_000, 1_010)])["g"] == 1.01


def test_a_few_pairs_tell_no_more_than_their_ends() -> None:
    found = added("g", [(1_000, 900), (1_000, 1_000), (1_000, 1_100)])
    assert (found["g, from"], found["g, to"]) == (0.9, 1.1)
