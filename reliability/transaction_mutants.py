"""The mutants of transactions; reliability/mutants.py runs them."""

from __future__ import annotations

from typing import Final

from reliability.mutant import Mutant

SIMULATION: Final = "tests/sim/test_transactions_simulation.py"

MUTANTS: Final = (
    Mutant(
        "markers before the decision is durable", "broker/coordinators/transactions.py",
        "        if order.prepared is None or order.prepared.settled:", "        if True:", (SIMULATION,),
    ),
    Mutant(
        "a commit is answered before its decision is durable", "groups/transactions/ending.py",
        "    decide(table, new, lambda error, _now_ms: reply(Ended(lost(error)) if error else answer))",
        "    reply(answer)\n    decide(table, new, lambda _error, _now_ms: None)", (SIMULATION,),
    ),
    Mutant(
        "the end is recorded before its markers", "broker/coordinators/transactions.py",
        "        yield from self._writer.steps(self._marker(order), order.partitions, done)",
        "        machine.marked(order, self._loop.clock.turn_ms)\n"
        "        super()._pump(self._loop.clock.turn_ms)\n"
        "        yield from self._writer.steps(self._marker(order), order.partitions, done)", (SIMULATION,),
    ),
    Mutant(
        "decisions are not carried out after a start", "groups/transactions/coordinator.py",
        "                if known.state in PREPARED:\n", "                if False:\n", (SIMULATION,),
    ),
    Mutant(
        "the epoch does not rise with a transaction", "groups/transactions/transaction.py",
        "        epoch, last_epoch = epoch + 1, epoch\n", "        epoch, last_epoch = epoch, epoch\n",
        (SIMULATION,),
    ),
    Mutant(
        "a late end is accepted in any epoch", "groups/transactions/ending.py",
        "    if (known.epoch != end.epoch or end.epoch == EPOCH_MAX) and not is_before:", "    if False:",
        (SIMULATION,),
    ),
    Mutant(
        "a new instance does not fence the one before", "groups/transactions/enlisting.py",
        "    if known.epoch != member.epoch or known.epoch == EPOCH_MAX:", "    if False:", (SIMULATION,),
    ),
    Mutant(
        "an overdue transaction is aborted in its own epoch", "groups/transactions/ending.py",
        "commit=False, client_version=TV2, next_producer_id=NO_ID",
        "commit=False, client_version=TV1, next_producer_id=NO_ID",
        (SIMULATION,),
    ),
    Mutant(
        "overdue transactions are not looked for after a start", "groups/transactions/coordinator.py",
        "                elif known.state == TransactionState.ONGOING:\n", "                elif False:\n",
        (SIMULATION,),
    ),
    Mutant(
        "a batch is stored before its partition is enlisted", "broker/coordinators/enlistment.py",
        "        if stored.code is None and not self._is_in_their_log(member, asked):", "        if False:",
        (SIMULATION,),
    ),
    Mutant(
        "markers that may be lost move the last stable offset", "wal/transactions.py",
        "        for ended in self._ending or ():\n", "        for ended in ():\n", (SIMULATION,),
    ),
    Mutant(
        "aborted transactions are forgotten at a start", "wal/producers.py",
        "                stream.have_transactions().set_aborted(snapshot.aborted[stream_id])",
        "                stream.have_transactions()", (SIMULATION,),
    ),
    Mutant(
        "readers are not told of aborted transactions", "wal/transactions.py",
        "            if entry.first_offset < up_to_offset:",
        "            if entry.first_offset < from_offset:",
        (SIMULATION,),
    ),
    Mutant(
        "offsets count when they are staged", "groups/txn_offset_commit.py",
        "        records.append(encode_record(key, value))\n",
        "        records.append(encode_record(key, value))\n        context.offsets.replay(key, value)\n",
        (SIMULATION,),
    ),
    Mutant(
        "offsets of an aborted transaction count", "groups/staged_offsets.py",
        "            if commit:\n", "            if True:\n",
        (SIMULATION,),
    ),
    Mutant(
        "staged offsets are forgotten at a start", "broker/coordinators/loader.py",
        "                    self._machine.replay_staged(index, stamp, record.key, record.value)",
        "                    continue", (SIMULATION,),
    ),
    Mutant(
        "the end of staged offsets is not replayed", "broker/coordinators/loader.py",
        "                if marker is not None:\n", "                if False:\n", (SIMULATION,),
    ),
)  # fmt: skip
