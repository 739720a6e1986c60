"""Whatever happens in whatever order, retention never passes an important group's uncommitted records."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from hypothesis.strategies import integers, sampled_from

from tests.broker.gateway import Gateway
from tests.broker.groups import commit, committed
from tests.broker.kit import batch, create, send
from tests.broker.upkeep.holds import INTERVAL_MS, hold


class ImportantGroup(RuleBasedStateMachine):
    """One topic with short retention, an important group, another one, restarts and crashes."""

    def __init__(self) -> None:
        super().__init__()
        self.gateway = Gateway(log_retention_check_interval_ms=INTERVAL_MS, kawal_vnodes=1)
        self.client = self.gateway.client()
        self.end = 0
        self.committed = 0
        self.passed = 0

    @initialize()
    def prepare(self) -> None:
        create(self.client, "t", retention_ms="5000", segment_ms="1")
        hold(self.client, "g", important="true", important_topics="t")

    @rule(count=integers(1, 5))
    def append(self, count: int) -> None:
        for _ in range(count):
            assert send(self.client, "t", batch(b"v", timestamp_ms=self.gateway.now_ms)).error_code == 0
        self.end += count

    @rule(share=sampled_from((0.0, 0.5, 1.0)), group=sampled_from(("g", "other")))
    def commits(self, share: float, group: str) -> None:
        offset = self.committed + round((self.end - self.committed) * share)
        commit(self.client, group, ("t", 0, offset))
        if group == "g":
            self.committed = offset

    @rule(duration_ms=sampled_from((1_000, INTERVAL_MS, 3 * INTERVAL_MS)))
    def wait(self, duration_ms: int) -> None:
        self.gateway.advance(duration_ms)
        self.gateway.broker.set_clocks(now_ms=self.gateway.now_ms, wall_ms=self.gateway.now_ms)

    @rule()
    def restart(self) -> None:
        # Ids are drawn from the clock: two starts in one millisecond would give two topics the same id.
        self.gateway.advance(1)
        self.gateway.restart()
        self.client = self.gateway.client()

    @rule()
    def crash(self) -> None:
        self.gateway.advance(1)
        self.gateway.crash()
        self.client = self.gateway.client()

    @invariant()
    def unread_records_are_there(self) -> None:
        if "t" not in self.gateway.broker.catalogue.by_name:
            return
        start = self.gateway.partition("t").log_start
        assert start <= self.committed
        assert start >= self.passed
        self.passed = start

    def teardown(self) -> None:
        self.gateway.advance(1_000)
        if "t" in self.gateway.broker.catalogue.by_name and self.committed:
            assert committed(self.gateway.client(), "g") == {("t", 0): self.committed}


TestImportantGroup = ImportantGroup.TestCase
TestImportantGroup.settings = settings(
    max_examples=40,
    stateful_step_count=25,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
