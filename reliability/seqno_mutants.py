"""The mutants of named producers (kawal.dedup=seqno); reliability/mutants.py runs them."""

from __future__ import annotations

from typing import Final

from reliability.mutant import Mutant

SIMULATION: Final = "tests/sim/test_seqno_simulation.py"

MUTANTS: Final = (
    Mutant(
        "numbers of names are not in the checkpoint", "wal/snapshot.py",
        "    state.named.restore(checkpoint.named)\n", "", (SIMULATION,),
    ),
    Mutant(
        "numbers of a lost frame stay", "wal/commit.py",
        "    state.named.revert()\n", "    state.named.durable(state.named.token)\n", (SIMULATION,),
    ),
    Mutant(
        "numbers are not replayed", "wal/replay.py",
        "        state.named.replay(payload)\n", "        pass\n", (SIMULATION,),
    ),
    Mutant(
        "a repetition is answered before its original is durable", "broker/storage/append.py",
        "            return AppendResult(-1, append_time_ms, partition.vnode.last_version)",
        "            return AppendResult(-1, append_time_ms, partition.vnode.log.next_version - 1)",
        (SIMULATION,),
    ),
    Mutant(
        "numbers of other logs are not asked for", "broker/storage/deduplication.py",
        "        if state is None or not place.remembers(state):",
        "        if state is None or vnode is not own or not place.remembers(state):", (SIMULATION,),
    ),
)  # fmt: skip
