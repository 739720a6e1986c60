"""The demo's picture."""

from __future__ import annotations

from pathlib import Path

from pipeline.demo.plot import Curve, can_plot, plot


def curve() -> Curve:
    made = Curve(300)
    for at in range(1, 4):
        made.add(2.0 * at, 100)
    made.crashed_at = 3.0
    return made


def test_lag_and_rates_follow_from_the_batches() -> None:
    assert curve().lag == [200, 100, 0]
    assert curve().rates == [50.0, 50.0]


def test_a_picture_is_a_png_file(tmp_path: Path) -> None:
    assert can_plot()
    plot(curve(), tmp_path / "demo.png")
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
