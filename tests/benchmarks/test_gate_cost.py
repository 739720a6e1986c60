"""The figures of benchmarks/gate_cost.py."""

from __future__ import annotations

from benchmarks.gate_cost import compared


def test_single_pairs_that_swing_do_not_move_the_figure() -> None:
    ratios = [0.5, 1.00, 1.01, 1.01, 1.02, 1.02, 1.03, 2.0]
    found = {name: round(figure, 4) for name, figure in compared("g", ratios).items()}
    assert found == {"g": 1.015, "g, lower quarter": 1.0025, "g, upper quarter": 1.0275}
