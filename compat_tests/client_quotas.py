"""Client quotas for tests: in effect when the call returns."""

from __future__ import annotations

from compat_tests.broker import Broker
from compat_tests.waiting import eventually
from compat_tests.wire import raw_client
from protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    OpData,
    RequestEntryData,
)
from protocol.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest


def limit(broker: Broker, key: str, value: float | None, **entity: str | None) -> None:
    """Set a quota, or remove it, and wait until it can be seen."""
    parts = [(kind.replace("_", "-"), name) for kind, name in entity.items()]
    entry = RequestEntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in parts],
        ops=[OpData(key=key, value=value or 0.0, remove=value is None)],
    )
    asked = [
        ComponentData(entity_type=kind, match_type=1 if name is None else 0, match=name)
        for kind, name in parts
    ]
    with raw_client(broker) as raw:
        (result,) = raw.call(AlterClientQuotasRequest(entries=[entry], validate_only=False), 1).entries
        assert result.error_code == 0, result

        def seen() -> bool:
            answer = raw.call(DescribeClientQuotasRequest(components=asked, strict=True), 1)
            found = {each.key: each.value for entry in answer.entries for each in entry.values}
            return found.get(key) == value

        eventually(seen, waiting_for=f"{key}={value} of {parts}")
