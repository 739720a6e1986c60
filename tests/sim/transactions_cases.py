"""Two troubles of transactions, tried one by one: a crash at every disk call, and ends that come late."""

from __future__ import annotations

from typing import Any

from protocol.error_codes import ErrorCode
from protocol.messages.end_txn import EndTxnRequest
from tests.sim.clients import Link
from tests.sim.transactions_actors import Copier, Writer
from tests.sim.transactions_client import INPUT, TV2, Asking, TransactionalClient
from tests.sim.transactions_history import Attempt
from tests.sim.transactions_simulation import TransactionsSimulation


class CrashAtCall(TransactionsSimulation):
    """A copier's transactions, and one crash: before the disk call of this number.

    After the crash the same instance asks again, or a new one begins. One that asks again, in a server that
    does not know what it has answered, must get what it would have got. It is in time, so it must not hear
    that it is fenced, nor that its transaction is in another state.
    """

    def __init__(self, seed: int, call: int, *, protocol: int, goes_on: bool) -> None:
        self.call = call
        self.protocol = protocol
        self.goes_on = goes_on
        super().__init__(seed, steps=0)

    def _clients(self) -> list[TransactionalClient]:
        how: dict[str, Any] = {"protocol": self.protocol, "timeout_ms": 60_000}
        self.writer = Writer(self.world, self.history, self.chance, "w0", self.topics, **how)
        return [self.writer, *(self._copier(source) for source in range(Writer.PARTITIONS))]

    def _copier(self, source: int) -> Copier:
        how: dict[str, Any] = {"transactional_id": f"copier-{source}", "protocol": self.protocol}
        return Copier(self.world, self.history, self.chance, f"c{source}", self.topics, source=source, **how)

    def _play(self) -> None:
        while self.history.counts["committed"] < 2:
            self.writer.step()
            self._happen(self._exchange)
        self._end([self.writer])
        self.world.calls_until_cut = self.call
        copiers = [client for client in self.clients if isinstance(client, Copier)]
        self._end(copiers)
        self.is_over = self.world.calls_until_cut is not None
        if self.goes_on:
            refused = {client.name: client.told for client in copiers if client.told}
            assert not refused, f"asked again after the crash, and told {refused}"
        self.world.heal_disk()
        self._check()

    def _power_fails(self, again_after_calls: int | None = None) -> None:
        super()._power_fails(again_after_calls)
        if not self.goes_on:
            for client in self.clients:
                if not client.ended:
                    client.begin_anew()


class LateEnds(TransactionsSimulation):
    """A producer of the second protocol whose EndTxn requests come once more, in a later transaction."""

    def __init__(self, seed: int, *, steps: int = 900) -> None:
        self.delayed: list[EndTxnRequest] = []
        self.delivered = 0
        super().__init__(seed, steps=steps)
        self._table = [
            (40, self._act),
            (20, self._exchange),
            (15, self._work),
            (10, self._slice),
            (20, self._push_some),
            (20, self._pull_some),
            (40, self._deliver),
            (0.15, self._kill),
            (0.15, self._cut_power),
        ]

    def _clients(self) -> list[TransactionalClient]:
        self.producer = _Repeating(self.world, self.history, self.chance, "w0", self.topics, protocol=TV2)
        self.producer.timeout_ms, self.producer.delayed = 900_000, self.delayed
        self.producer.is_undisturbed = True
        return [self.producer]

    def _play(self) -> None:
        self._happen_by_chance()
        self._happen(self._settle)
        self._end([self.producer])
        self._happen(self._exchange)
        self.history.check_whole(
            {place: found for place, found in self._read_all().items() if place[0] == INPUT}
        )

    def _deliver(self) -> str:
        if not self.delayed:
            return "nothing is late"
        late = self.delayed.pop(self.chance.randrange(len(self.delayed)))
        before = self.ids.ids.get(late.transactional_id)
        link = Link(self.world)

        def done(answer: Any) -> None:
            assert answer is None or answer.error_code in (
                ErrorCode.NONE,
                ErrorCode.PRODUCER_FENCED,
                ErrorCode.CONCURRENT_TRANSACTIONS,
                ErrorCode.INVALID_TXN_STATE,
                ErrorCode.INVALID_PRODUCER_ID_MAPPING,
                ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
            ), answer

        link.send(late, 5, done)
        link.push(1 << 30)
        after = self.ids.ids.get(late.transactional_id)
        assert before == after, f"{late} came late and turned {before} into {after}"
        if before is not None and before.epoch > late.producer_epoch and before.partitions:
            self.delivered += 1
        return f"the end of epoch {late.producer_epoch} comes once more"


class _Repeating(Writer):
    delayed: list[EndTxnRequest]

    def end(self, attempt: Attempt, *, commit: bool) -> Asking:
        """End the transaction, and leave a copy of the request on its way."""
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            committed=commit,
        )
        yield from super().end(attempt, commit=commit)
        self.delayed += [request] * self.chance.randint(4, 8)
