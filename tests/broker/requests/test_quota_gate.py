"""The gate that counts requests passes them on, and costs nothing while there is no quota."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from broker.catalogue.quota_table import QuotaTable
from broker.requests.quota_gate import QuotaGate
from protocol.error_codes import ErrorCode
from protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from protocol.messages.metadata import MetadataRequest
from tests.broker.client_quotas import alter
from tests.broker.gateway import Gateway
from tests.broker.guarded import Guarded


class Inner:
    """A gate that refuses everything with an answer of its own."""

    def admit(self, _call: Any, _now_ms: int) -> object | None:
        return "refused"

    def lets_write(self, _connection: Any, _topic: str) -> bool:
        return False


def test_the_gate_behind_it_decides() -> None:
    broker: Any = Gateway().broker
    gate = QuotaGate(Inner(), QuotaTable(), broker, broker.config)
    call: Any = None
    assert gate.admit(call, 0) == "refused"
    assert gate._throttling is None


def test_what_a_rule_refuses_is_counted_as_well() -> None:
    """Kafka counts the time of every request: who is refused all day is slowed down, too."""
    guarded = Guarded()
    ticks = iter(range(0, 10**15, 1_000_000))
    guarded.broker.stats.turns.clock_ns = lambda: next(ticks)
    alter(guarded.admin, {"client-id": None}, ("request_percentage", 0.001))
    answer = guarded.of("User:alice", "10.0.0.9").call(
        DescribeClientQuotasRequest(components=[], strict=False), 1
    )
    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert answer.throttle_time_ms > 0


def test_a_start_without_quotas_imports_no_arithmetic_for_requests() -> None:
    program = "import sys, broker.core; print([n for n in sys.modules if n == 'broker.requests.throttling'])"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_first_quota_is_at_work_without_a_restart(gateway: Gateway) -> None:
    client = gateway.client()
    broker = gateway.broker
    assert client.call(MetadataRequest(topics=[]), 12).throttle_time_ms == 0
    ticks = iter(range(0, 10**15, 1_000_000))
    broker.stats.turns.clock_ns = lambda: next(ticks)
    alter(client, {"client-id": None}, ("request_percentage", 0.001))
    assert client.call(MetadataRequest(topics=[]), 12).throttle_time_ms > 0
