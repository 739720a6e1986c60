"""The points between two steps of a job: tests end the process there, and look at what it has left."""

from __future__ import annotations

from collections.abc import Callable

Probe = Callable[[str, int], None]
"""A function called with the step and the batch of the checkpoint (0 where no checkpoint takes part).

planned      the batch's range is fixed in the checkpoint; nothing is written
written      Spark has written the rows in staging, under names of its own, or to the target
staged       the batch is made: files, names, quarantine; nothing is visible
quarantined  its bad rows are in the quarantine
placed       its folder is in the table; with Delta and Iceberg, no reader sees it yet
landed       it is in the table; Spark, or the quarantine, has not noted it yet

`run` of `land` has all of them, in this order; `replicate`, `derive` and `compact` have all but quarantined,
`replay` all but written.
"""


def no_probe(_step: str, _batch: int) -> None:
    """Do nothing."""
