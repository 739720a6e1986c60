"""Jobs that die between placing a batch and committing it to the log of the table's format, and their upkeep.

`python -m compat_tests.pipeline_kills` breaks jobs in all other ways, too; `--list` says in which.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from compat_tests.broker import Broker
from compat_tests.pipeline_kills.__main__ import ALL_KINDS, ALL_SCENARIOS, pairs
from compat_tests.pipeline_kills.copies import COPY_KINDS, COPY_SCENARIOS, COPY_STEPS
from compat_tests.pipeline_kills.ground import KINDS, make_ground
from compat_tests.pipeline_kills.scenarios import SCENARIOS, STEPS, driver_dies
from compat_tests.pipeline_kills.upkeep import (
    COMPACT_STEPS,
    REPLAY_STEPS,
    UPKEEP_SCENARIOS,
    compact_dies,
    replay_dies,
)


@pytest.mark.timeout(300, method="signal")
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_batch_that_is_placed_but_not_committed_is_seen_by_no_reader_and_lands_once(
    broker: Broker, tmp_path: Path, kind: str
) -> None:
    driver_dies("placed", batches=1)(make_ground(broker, tmp_path / "ground", kind))


@pytest.mark.timeout(300, method="signal")
def test_a_compaction_that_dies_leaves_the_table_and_the_quarantine_as_they_were(
    broker: Broker, tmp_path: Path
) -> None:
    compact_dies("placed")(make_ground(broker, tmp_path / "ground", "delta"))


@pytest.mark.timeout(300, method="signal")
def test_a_replay_that_dies_between_quarantine_and_table_lands_nothing_twice(
    broker: Broker, tmp_path: Path
) -> None:
    replay_dies("quarantined")(make_ground(broker, tmp_path / "ground", "parquet"))


def test_every_job_dies_at_five_steps_or_more_and_in_every_other_way() -> None:
    assert {f"driver-{step}" for step in STEPS} < SCENARIOS.keys()
    assert {f"compact-{step}" for step in COMPACT_STEPS} < UPKEEP_SCENARIOS.keys()
    assert {f"replay-{step}" for step in REPLAY_STEPS} < UPKEEP_SCENARIOS.keys()
    assert {f"copy-driver-{step}" for step in COPY_STEPS} < COPY_SCENARIOS.keys()
    assert min(map(len, (STEPS, COMPACT_STEPS, REPLAY_STEPS, COPY_STEPS))) >= 5
    assert {"executor", "cluster-python-worker", "python-worker", "gateway", "disk-away"} < SCENARIOS.keys()
    assert {"copy-executor", "copy-writer", "copy-source", "copy-target"} < COPY_SCENARIOS.keys()
    assert (KINDS, COPY_KINDS) == (("parquet", "delta", "iceberg"), ("replicate", "derive"))


def test_a_scenario_is_done_once_in_each_kind_that_is_chosen() -> None:
    chosen = [("audit", "delta"), ("copy-writer", ""), ("audit", "")]
    assert pairs(chosen, ["delta", "iceberg", "derive"]) == [
        ("audit", "delta"),
        ("copy-writer", "derive"),
        ("audit", "iceberg"),
    ]
    assert len(pairs([(name, "") for name in ALL_SCENARIOS], ALL_KINDS)) == 180
