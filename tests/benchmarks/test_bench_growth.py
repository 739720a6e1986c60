"""Every cost of benchmarks/bench_growth.py can be measured, and is shown with its growth."""

from __future__ import annotations

import pytest

from benchmarks.bench_growth import CASES, SCALES, Row, head, main, measure


@pytest.mark.parametrize("name", CASES)
def test_each_case_is_measured_at_each_scale(name: str) -> None:
    row = measure(name, base=1, rounds=1)
    assert len(row.seconds) == len(SCALES)
    assert all(seconds >= 0 for seconds in row.seconds)
    assert max(row.seconds) > 0


def test_a_line_says_what_a_unit_costs_beside_how_much_and_how_that_grows() -> None:
    row = Row("join", CASES["join"], (50e-6, 60e-6, 125e-6))
    assert row.growth == pytest.approx(2.5)
    assert str(row).split()[0] == "join"
    assert str(row).split()[-4:] == ["50.0", "60.0", "125.0", "2.5"]
    assert head(100).split()[-4:] == ["µs", "100x", "/", "1x"]
    assert "10,000, µs" in head(100)


def test_an_unknown_case_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["nonsense"])
    assert "no such case: nonsense" in capsys.readouterr().err
