"""Several nodes over one store: nothing is lost or doubled across them, whatever is taken over when."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.sim.journal_process import Sent
from tests.sim.nodes_checks import TOPIC
from tests.sim.nodes_net import COUNT
from tests.sim.nodes_process import NodeProcess
from tests.sim.nodes_simulation import NodesWorld
from wal.log import VnodeLog
from wal.memory_image import DROP_ALL
from wal.memory_objects import ObjectCall, ObjectFault
from wal.objects import ObjectReads
from wal.remote import older_journals
from wal.remote.formats import JournalMark, RemoteDamaged
from wal.remote.journal import Journal, Put
from wal.remote.journal_format import JournalObject
from wal.remote.journal_scan import chunks

SEEDS = int(os.environ.get("KAWAL_SIM_NODES_SEEDS", "6"))
STEPS = 400
MISSED_MAX = 30
"""A weakening must be noticed in fewer seeds than this."""


def run(world: NodesWorld) -> NodesWorld:
    """Take all steps, and look at the store again and again."""
    for number in range(STEPS):
        world.step()
        if number % 50 == 49:
            world.check()
    world.end()
    return world


@pytest.mark.parametrize("seed", range(SEEDS))
def test_what_was_acknowledged_is_there_across_nodes_after_any_take_over(seed: int) -> None:
    run(NodesWorld(seed))


def test_one_seed_gives_one_trace() -> None:
    def trace() -> list[ObjectCall]:
        return run(NodesWorld(3)).objects.calls

    assert trace() == trace()


def is_noticed(first: int, *, is_atomic: bool = True) -> bool:
    """Whether a seed from `first` on shows that something is lost, doubled, or stands still."""
    for seed in range(first, first + MISSED_MAX):
        try:
            run(NodesWorld(seed, is_atomic=is_atomic))
        except (AssertionError, RemoteDamaged):
            return True
    return False


def test_without_a_fence_an_old_process_would_acknowledge_what_its_successor_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unfenced(
        store: ObjectReads, prefix: str, since: JournalMark, *, epoch: int, incarnation: str
    ) -> Iterator[tuple[JournalMark, JournalObject]]:
        del incarnation
        return chunks(store, prefix, since, epoch=epoch - 1)

    monkeypatch.setattr(older_journals, "fence", unfenced)
    assert is_noticed(1)


def test_without_conditional_writes_acknowledged_records_would_be_lost() -> None:
    assert is_noticed(1, is_atomic=False)


def test_acknowledgements_out_of_order_would_be_of_records_that_no_restore_finds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_order = Journal.done

    def done(journal: Journal, put: Put, error: Exception | None) -> list[object]:  # type: ignore[type-arg]
        if error is not None or put not in journal._in_flight:
            return in_order(journal, put, error)
        journal._in_flight.remove(put)
        journal.waiting_bytes -= sum(commit.job.size_bytes for commit in put.commits)
        return list(put.commits)

    monkeypatch.setattr(Journal, "done", done)
    assert is_noticed(0)


def starts_with_unstored_records(world: NodesWorld) -> bool:
    """Have node 1 start on a disk with a record that no store has; return whether it serves.

    If it does, what can be read there is committed at node 0.
    """
    (old,) = [process for process in world.processes if process.number]
    place = next((TOPIC, index) for index in range(COUNT) if world.leader(TOPIC, index))
    world.reader.place = place
    old.produce(7, Sent(*place, b"<0>", 0))
    for _ in range(10):
        old.run_disk(world.random)
    world._end(old, old.gateway.disk.crash(DROP_ALL))
    (process,) = world.starting
    world.objects.hook = lambda call: ObjectFault.AWAY if call.key.startswith("node-1/") else None
    if not process.begin():
        return False
    world.starting.remove(process)
    world.processes.append(process)
    for _ in range(1_000):
        world.reader.step(world.random)
        world.move(world.random)
        for each in world.processes:
            each.run_disk(world.random)
            each.run_thread(world.random)
            each.learn(world.random)
        if world.reader.committed:
            break
    world.objects.hook = None
    return True


def test_a_node_that_starts_tells_nothing_that_the_store_may_lack() -> None:
    world = NodesWorld(1)
    assert not starts_with_unstored_records(world)
    world.objects.hook = None
    world.check()


def test_without_that_and_shown_at_once_a_record_would_be_lost_whose_offset_is_committed_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(NodeProcess, "waits", False)
    monkeypatch.setattr(VnodeLog, "hide_replayed", lambda _: None)
    world = NodesWorld(1)
    assert starts_with_unstored_records(world)
    assert world.reader.committed == 1
    with pytest.raises(AssertionError, match="offset 1 was committed, and the records end at 0"):
        world.check()
