"""The points at which tests end a job."""

from __future__ import annotations

import inspect
import re
from types import ModuleType

import pytest

import pipeline.compact
import pipeline.jobs.land
import pipeline.jobs.replicate
import pipeline.probe
import pipeline.replay
from pipeline.probe import no_probe

STEPS = re.findall(r"^(\w+)  +", inspect.getsource(pipeline.probe), re.MULTILINE)


def test_a_job_without_a_probe_goes_on() -> None:
    no_probe("planned", 0)


@pytest.mark.parametrize(
    ("modules", "without"),
    [
        ([pipeline.jobs.land], set()),
        ([pipeline.jobs.land, pipeline.jobs.replicate], set()),
        ([pipeline.compact], {"quarantined"}),
        ([pipeline.replay], {"written"}),
    ],
)
def test_every_job_has_the_steps_that_are_promised(modules: list[ModuleType], without: set[str]) -> None:
    source = "".join(map(inspect.getsource, modules))
    named = set(re.findall(r'probe\("(\w+)"', source))
    assert named == set(STEPS) - without
