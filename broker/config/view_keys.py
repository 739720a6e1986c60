"""The keys for the memory of views; a part of the table in server_keys.py."""

from __future__ import annotations

from typing import Final

from broker.config.config_keys import ConfigType, Key

LONG: Final = ConfigType.LONG
MIB: Final = 1 << 20

# fmt: off
VIEW_KEYS: tuple[Key, ...] = (
    Key("kawal.views.cache.bytes", LONG, 64 * MIB,
        "Memory, over all views, for what was found in their sources, so that many readers of a view cost "
        "one evaluation.", minimum=MIB, unit="bytes", dynamic=True),
    Key("kawal.views.keys.bytes", LONG, 96 * MIB,
        "Memory, over all views, for the tags and sub-tables of keys.  Without room, those of the partition "
        "read longest ago are forgotten, and learned again.", minimum=MIB, unit="bytes", dynamic=True),
    Key("kawal.views.compiled.bytes", LONG, 128 * MIB,
        "Memory, over all views, for their compiled statements, as estimated: some 25 KB for a simple one, "
        "megabytes for many patterns.  Without room, those of the views read longest ago are dropped, and "
        "made again when they are read.", minimum=MIB, unit="bytes", dynamic=True),
)
# fmt: on
