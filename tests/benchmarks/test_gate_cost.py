"""The figures of benchmarks/gate_cost.py."""

from __future__ import annotations

from benchmarks.gate_cost import compared


def test_single_pairs_that_swing_do_not_move_the_figure() -> None:
    ratios = [0.5, *(1 + number / 1_000 for number in range(38)), 2.0]
    found = compared("g", ratios)
    assert {name: round(figure, 4) for name, figure in found.items()} == {
        "g": 1.0185,
        "g, from": 1.011,
        "g, to": 1.026,
    }


def test_a_few_pairs_tell_no_more_than_their_ends() -> None:
    assert compared("g", [1.1, 0.9, 1.0]) == {"g": 1.0, "g, from": 0.9, "g, to": 1.1}
