"""Drivers of jobs that die between placing a batch and committing it to the log of the table's format.

`python -m compat_tests.pipeline_kills` breaks jobs in all other ways, too; `--list` says in which.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from compat_tests.broker import Broker
from compat_tests.pipeline_kills.ground import KINDS, make_ground
from compat_tests.pipeline_kills.scenarios import SCENARIOS, STEPS, driver_dies


@pytest.mark.timeout(300, method="signal")
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_batch_that_is_placed_but_not_committed_is_seen_by_no_reader_and_lands_once(
    broker: Broker, tmp_path: Path, kind: str
) -> None:
    driver_dies("placed", batches=1)(make_ground(broker, tmp_path / "ground", kind))


def test_every_step_of_a_driver_and_every_way_to_break_a_job_has_a_scenario() -> None:
    assert {f"driver-{step}" for step in STEPS} < SCENARIOS.keys()
    assert {"executor", "cluster-python-worker", "python-worker", "gateway", "disk-away"} < SCENARIOS.keys()
    assert KINDS == ("parquet", "delta", "iceberg")
