"""Upkeep broken in the middle: compact and replay killed at each step, audit while it reads."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from compat_tests.pipeline_jobs import produce_numbers, produce_values
from compat_tests.pipeline_kills.cluster import busy_python_workers
from compat_tests.pipeline_kills.ground import Ground, ended, in_mid_batch, produce_many
from compat_tests.pipeline_kills.scenarios import KILLED, ROWS, must_have_died, produce_with_junk

COMPACT_STEPS = ("planned", "written", "staged", "placed", "landed")
REPLAY_STEPS = ("planned", "staged", "quarantined", "placed", "landed")


def compact_dies(step: str) -> Callable[[Ground], None]:
    """Return the scenario of a compaction that is killed at `step`, after a run that died with bad rows."""

    def scenario(ground: Ground) -> None:
        produce_with_junk(ground)
        must_have_died(ground.job.run_and_die("quarantined", 2))
        assert ground.visible_rows() == 2 * ROWS
        must_have_died(ground.job.run_and_die(step, action="compact"))
        assert ground.visible_rows() == 2 * ROWS
        again = ground.job.pipe("compact")
        assert again.code == 0, again.err
        ground.job.run_here()
        ground.must_be_equal(rows=100, bad=4)
        produce_numbers(ground.broker, ground.topic, range(100, 110))
        assert ground.job.run_here()["rows"] == 10
        ground.must_be_equal(rows=110, bad=4)

    return scenario


def replay_dies(step: str) -> Callable[[Ground], None]:
    """Return the scenario of a replay that is killed at `step`, with a run before the next replay."""

    def scenario(ground: Ground) -> None:
        ground.edit("n int not null", "n int not null, m int not null")
        values = [(0, b"junk"), (1, b'{"n":1}'), (0, b'{"n":2,"m":2}')]
        produce_values(ground.broker, ground.topic, values)
        ground.job.run_here()
        ground.must_be_equal(rows=1, bad=2)
        ground.edit("m int not null", "m int")
        must_have_died(ground.job.run_and_die(step, action="replay"))
        in_log = ground.format != "parquet"
        has_landed = step == "landed" or (step == "placed" and not in_log)
        assert ground.visible_rows() == (2 if has_landed else 1)
        produce_values(ground.broker, ground.topic, [(0, b'{"n":3}'), (1, b"junk")])
        ground.job.run_here()
        again = ground.job.pipe("replay")
        assert again.code == 0, again.err
        ground.must_be_equal(rows=3, bad=2)

    return scenario


def audit_dies(ground: Ground) -> None:
    """Kill an audit while it reads: nothing is left, and the next one finds table and topic equal."""
    produce_many(ground)
    rows = ground.job.run_here()["rows"]
    before = ground.files()
    with ground.running("audit") as audit:
        in_mid_batch(audit, lambda: busy_python_workers([audit.pid]))
        os.killpg(audit.pid, signal.SIGKILL)
        assert ended(audit)[0] == KILLED
    assert ground.files() == before
    ground.must_be_equal(rows=rows)


COMPACT_SCENARIOS: dict[str, Callable[[Ground], None]] = {
    f"compact-{step}": compact_dies(step) for step in COMPACT_STEPS
}
UPKEEP_SCENARIOS: dict[str, Callable[[Ground], None]] = {
    **COMPACT_SCENARIOS,
    **{f"replay-{step}": replay_dies(step) for step in REPLAY_STEPS},
    "audit": audit_dies,
}
"""Iceberg tables are compacted by their engine, and Parquet in a bucket cannot be."""
