"""The ledger takes one line for each run, and adds them up."""

from __future__ import annotations

from pathlib import Path

from reliability.ledger import append, totals


def test_the_sums_of_a_ledger_are_by_rig(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    append(path, commit="a", rig="kill", seed=1, counts={"kills": 5, "ready_max": 2.5}, anomalies={})
    append(path, commit="b", rig="kill", seed=2, counts={"kills": 7}, anomalies={"lost-write": 2})
    append(path, commit="b", rig="pause", seed=2, counts={"pauses": 1}, anomalies={})

    assert totals(path.read_text().splitlines()) == {
        "kill": {"runs": 2, "kills": 12, "anomalies": 2},
        "pause": {"runs": 1, "pauses": 1, "anomalies": 0},
    }
