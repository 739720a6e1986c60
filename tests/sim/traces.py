"""All simulations by name: a digest of what a seed makes of each, and how much faster than real time it runs.

    python -m tests.sim.traces                   one seed of each
    python -m tests.sim.traces brokers --seeds 20

A line has the name, the number of seeds, a digest of their traces and of every byte on their disks, and, with
`--speed`, the simulated time, that of the processor, and their ratio. The same seeds give the same digest in
every process, whatever its hash seed: else a failure could not be repeated by its seed.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Callable
from hashlib import sha256
from typing import Any, Final, NamedTuple

from tests.broker.gateway import START_MS, Gateway
from tests.sim import groups_simulation, test_dead_letters_simulation, test_pipelined_transactions
from tests.sim.compaction_simulation import Compacting
from tests.sim.damage import made
from tests.sim.databases_simulation import DatabasesSimulation
from tests.sim.full_store import made_full
from tests.sim.journal_simulation import World as JournalWorld
from tests.sim.nodes_simulation import NodesWorld
from tests.sim.recreated_topics import World as RecreatedTopics
from tests.sim.scenario import Scenario
from tests.sim.seqno_simulation import SeqnoSimulation
from tests.sim.share_simulation import ShareSimulation
from tests.sim.simulation import Simulation
from tests.sim.split_groups_simulation import SplitGroupsSimulation
from tests.sim.split_simulation import SplitSimulation
from tests.sim.test_backup_simulation import BackupSimulation
from tests.sim.test_journal_simulation import run as run_journal
from tests.sim.test_nodes_simulation import run as run_nodes
from tests.sim.test_recreated_topics_simulation import STEPS as RECREATED_STEPS
from tests.sim.test_remote_simulation import STEPS as REMOTE_STEPS
from tests.sim.test_remote_simulation import World as RemoteWorld
from tests.sim.test_remote_workers_simulation import STEPS as REMOTE_WORKERS_STEPS
from tests.sim.test_remote_workers_simulation import World as RemoteWorkersWorld
from tests.sim.test_views_simulation import ViewsSimulation
from tests.sim.transactions_simulation import TransactionsSimulation
from wal.memory_disk import MemoryDisk


class Run(NamedTuple):
    """One seed of a simulation."""

    trace: Any
    """Whatever tells what happened, by its `repr`."""
    simulated_ms: int = 0


def _scenario(kind: Callable[[int], Scenario]) -> Callable[[int], Run]:
    def run(seed: int) -> Run:
        done = kind(seed).run()
        return Run((done.trace, _bytes_on(done.world.disk)), done.world.now_ms - START_MS)

    return run


def _groups(seed: int) -> Run:
    world = groups_simulation.run(seed).world
    return Run(world.log, world.now_ms)


def _gateway(gateway: Gateway) -> Run:
    return Run(_bytes_on(gateway.disk), gateway.now_ms - START_MS)


def _dead_letters(seed: int) -> Run:
    walk = test_dead_letters_simulation.Walk(seed, vnodes=2)
    for _ in range(test_dead_letters_simulation.STEPS):
        walk.step()
    return _gateway(walk.gateway)


def _pipelined(seed: int) -> Run:
    world = test_pipelined_transactions.World(seed)
    for _ in range(test_pipelined_transactions.STEPS):
        world.step()
    return _gateway(world.gateway)


def _recreated_topics(seed: int) -> Run:
    world = RecreatedTopics(seed)
    for _ in range(RECREATED_STEPS):
        world.step()
    world.settle()
    return _gateway(world.gateway)


def _remote(seed: int) -> Run:
    world = RemoteWorld(seed)
    for _ in range(REMOTE_STEPS):
        world.step()
    return Run((world.objects.calls, _bytes_on(world.node.disk)))


def _remote_workers(seed: int) -> Run:
    world = RemoteWorkersWorld(seed)
    for _ in range(REMOTE_WORKERS_STEPS):
        world.step()
    return Run((world.objects.calls, _bytes_on(world.workers[0].disk)))


def _journal(seed: int) -> Run:
    world = run_journal(JournalWorld(seed))
    return Run((world.objects.calls, sorted(world.acked)))


def _nodes(seed: int) -> Run:
    world = run_nodes(NodesWorld(seed))
    return Run((world.objects.calls, sorted(world.acked), sorted(world.writer.committed)))


def _full_store(_seed: int) -> Run:
    store = made_full("killed and started")
    return Run((store.expected, _bytes_on(store.disk)))


def _store(_seed: int) -> Run:
    store = made("stopped")
    return Run((store.expected, _bytes_on(store.disk)))


SIMULATIONS: Final[dict[str, Callable[[int], Run]]] = {
    "brokers": _scenario(Simulation),
    "databases": _scenario(DatabasesSimulation),
    "views": _scenario(ViewsSimulation),
    "compaction": _scenario(Compacting),
    "backups": _scenario(BackupSimulation),
    "transactions": _scenario(TransactionsSimulation),
    "named-producers": _scenario(SeqnoSimulation),
    "splits": _scenario(SplitSimulation),
    "split-groups": _scenario(SplitGroupsSimulation),
    "shares": _scenario(ShareSimulation),
    "groups": _groups,
    "dead-letters": _dead_letters,
    "pipelined": _pipelined,
    "recreated-topics": _recreated_topics,
    "remote": _remote,
    "remote-workers": _remote_workers,
    "journal": _journal,
    "nodes": _nodes,
    "store": _store,
    "full-store": _full_store,
}


def _bytes_on(disk: MemoryDisk) -> list[tuple[str, str]]:
    """Return the path of each file of a simulated disk, with a digest of its bytes."""
    return [(path, sha256(disk.contents(path)).hexdigest()) for path in disk.files()]


def digest(name: str, seeds: range) -> tuple[str, int]:
    """Run these seeds of a simulation; return a digest of what happened, and the simulated milliseconds."""
    found, simulated_ms = sha256(), 0
    for seed in seeds:
        run = SIMULATIONS[name](seed)
        found.update(repr(run.trace).encode())
        simulated_ms += run.simulated_ms
    return found.hexdigest()[:16], simulated_ms


def main() -> int:
    """Run what the arguments name."""
    parser = argparse.ArgumentParser(prog="python -m tests.sim.traces", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *SIMULATIONS], metavar="NAME")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--speed", action="store_true", help="print times, too")
    options = parser.parse_args()
    logging.disable()  # the faults of the simulations
    for name in options.names or SIMULATIONS:
        before = time.process_time()
        found, simulated_ms = digest(name, range(options.first, options.first + options.seeds))
        used = time.process_time() - before
        line = f"{name} {options.seeds} {found}"
        if options.speed and simulated_ms:
            seconds = simulated_ms / 1_000
            line += f" {seconds:.0f} s in {used:.1f} s of processor: {seconds / used:.0f} times real time"
        sys.stdout.write(f"{line}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
