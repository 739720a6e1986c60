"""Exactly once under kills of copiers and of the gateway; `python -m reliability copies` is the full dose."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from reliability.copying import SETTINGS, copy
from reliability.world import World

MESSAGES = int(os.environ.get("COMPAT_COPIED_MESSAGES", "5000"))


@pytest.mark.only_kawal
def test_every_message_is_copied_once_and_in_order_while_copiers_and_the_gateway_die(tmp_path: Path) -> None:
    world = World(tmp_path, seed=3, settings=SETTINGS)
    world.programs = ("java",)  # one of the three copiers, over the newer protocol
    try:
        world.start()
        counts = copy(world, MESSAGES)
    finally:
        world.close()
        world.history.close()
    assert sum(counts[name] for name in ("copier_kills", "copier_stops", "server_kills", "server_stops"))
