"""The settings by which groups read.

kawal.consume.excluded    without the records that a restoring client wrote
kawal.min.poll.rows       wait for so many records
kawal.enable.batch.meta   changes of topics in one batch
kawal.snapshot.enable     the last record of each key first
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from uuid import UUID

    from broker.config.config_layers import ConfigLayers

EXCLUDED: Final = "kawal.consume.excluded"
MIN_ROWS: Final = "kawal.min.poll.rows"
BATCH_META: Final = "kawal.enable.batch.meta"
SNAPSHOT: Final = "kawal.snapshot.enable"
NAMES: Final = frozenset({EXCLUDED, MIN_ROWS, BATCH_META, SNAPSHOT})


class ReadSettings(NamedTuple):
    """The settings by which one group reads."""

    excludes: bool = False
    min_rows: int = 0
    packs_changes: bool = False
    begins_with_snapshot: bool = False


PLAIN: Final = ReadSettings()
"""Those of a group that reads what is stored."""

Positions = Mapping["UUID", Mapping[int, int | None]]
"""By topic and partition: the progress of a group; None: there is none, or it does not matter."""


@dataclass(slots=True, eq=False)
class GroupRead:
    """A group that reads for a client, and its settings; equal to itself alone."""

    group_id: str
    settings: ReadSettings
    positions: Positions | None = None
    """Its progress; None: it is coordinated here."""


def read_settings(overrides: Mapping[str, str], layers: ConfigLayers) -> ReadSettings:
    """Return the settings of a group with these configurations of its own."""
    if NAMES.isdisjoint(overrides):
        return PLAIN
    from broker.config import group_configs

    values = {name: group_configs.value(name, overrides, layers) for name in NAMES}
    rows = values[MIN_ROWS]
    assert isinstance(rows, int)
    return ReadSettings(
        excludes=bool(values[EXCLUDED]),
        min_rows=rows,
        packs_changes=bool(values[BATCH_META]),
        begins_with_snapshot=bool(values[SNAPSHOT]),
    )
