"""Topics deleted and made again under the offsets of groups, in whole brokers that lose their process.

No group ever finds an offset of a deleted topic in a new one of the same name, and none that was acknowledged
in the new one is lost.
"""

from __future__ import annotations

from collections import Counter

import pytest

import broker.coordinators.loader as loader
from groups import staged_offsets, topic_deletion, txn_offset_commit
from tests.sim.recreated_topics import World
from tests.sim.seeds import FIRST, seed_count

SEEDS = seed_count(20)
STEPS = 150


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what takes long with very many offsets take as long with a few."""
    monkeypatch.setattr(topic_deletion, "HIDDEN_AT_ONCE", 1)
    monkeypatch.setattr(topic_deletion, "OFFSETS_PER_STEP", 1)
    monkeypatch.setattr(loader, "LOAD_BYTES_PER_SLICE", 200)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("large", [staged_offsets.LARGE, 1], ids=["", "ends in slices"])
def test_no_offset_of_a_deleted_topic_is_found_in_a_new_one_and_no_new_one_is_lost(
    large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staged_offsets, "LARGE", large)
    monkeypatch.setattr(txn_offset_commit, "OFFSETS_PER_STEP", 1)
    happened: Counter[str] = Counter()
    for seed in range(FIRST, FIRST + SEEDS):
        world = World(seed)
        try:
            for _ in range(STEPS):
                world.step()
            world.settle()
            world.check()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        happened += world.happened
    wanted = {"crashes", "deletions", "found", "not found", "NONE", "staged", "committed", "aborted"}
    assert not wanted - set(happened), happened
