"""Which programs there are and how each is started."""

from __future__ import annotations

import sys

from compat_tests.clients.program import ROOT

BUILT = ROOT / ".cache" / "clients"


def _python(module: str) -> list[str]:
    return [sys.executable, "-m", f"compat_tests.clients.{module}.main"]


def _go(name: str) -> list[str]:
    return [str(BUILT / "go" / name)]


COMMANDS: dict[str, list[str]] = {
    "aiokafka": _python("aiokafka"),
    "confluent-kafka": _python("confluent_kafka"),
    "kafka-python": _python("kafka_python"),
    "franz-go": _go("franz-go"),
    "sarama": _go("sarama"),
    "kafka-go": _go("kafka-go"),
}
"""Client -> command. `make clients` builds what is not Python."""

NOT_PINNED = frozenset({"aiokafka", "confluent-kafka", "kafka-python", "kcat"})
"""Clients that come in ranges of versions: what is written down is the one the matrix was made with."""

EMPTY_READ_AS_NULL = frozenset({"kafka-go"})
"""Clients that cannot tell an empty key, value or header from null when they read."""

NOT_IDEMPOTENT = frozenset({"kafka-go"})
"""Clients without an idempotent producer: what they send again after a lost answer may be there twice."""
