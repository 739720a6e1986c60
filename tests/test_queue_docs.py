"""The table of queue features in docs/queues.md names tests that exist, or reasons."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def rows() -> dict[str, list[str]]:
    page = (ROOT / "docs/queues.md").read_text()
    found = [line.strip("| ").split(" | ") for line in page.splitlines() if re.match(r"\| E\d+ \|", line)]
    return {cells[0]: cells[1:] for cells in found}


def test_all_features_have_a_row() -> None:
    assert list(rows()) == [f"E{number}" for number in range(1, 39)]


def test_every_row_has_a_test_that_exists() -> None:
    sources = [*ROOT.glob("tests/**/test_*.py"), *ROOT.glob("compat_tests/test_*.py")]
    known = {
        name for path in sources for name in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    for name, (feature, way, tests) in rows().items():
        named = re.findall(r"`(test_\w+)`", tests)
        assert all((feature, way, named)), name
        assert set(named) <= known, (name, set(named) - known)
