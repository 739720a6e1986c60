"""Tests of what lets segments leave the disk: defaults of the server, and what rounds have proved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from broker.storage.vnode import Vnode
from broker.upkeep.tiering import Tiering
from protocol.error_codes import ErrorCode
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.broker.upkeep.copies import copy_of
from tests.broker.upkeep.test_tiering import Tiered
from wal.remote_record import RemoteRecord


def set_default_policy(tiered: Tiered, policy: str) -> Any:
    """Set the server's default cleanup.policy, and return the answer."""
    config = AlterableConfig(name="log.cleanup.policy", config_operation=0, value=policy)
    request = IncrementalAlterConfigsRequest(
        resources=[AlterConfigsResource(resource_type=4, resource_name="", configs=[config])],
        validate_only=False,
    )
    (answer,) = tiered.client.call(request, 1).responses
    return answer


def test_a_default_that_would_compact_a_tiered_topic_is_refused_as_kafka_refuses_the_topic() -> None:
    tiered = Tiered()
    answer = set_default_policy(tiered, "delete,compact")
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert "Remote log storage only supports topics with cleanup.policy=delete" in answer.error_message
    assert set_default_policy(tiered, "delete").error_code == 0


def test_a_default_that_compacts_is_no_matter_for_tiered_topics_with_a_policy_of_their_own() -> None:
    tiered = Tiered(remote_storage_enable="true", local_retention_bytes="0", cleanup_policy="delete")
    assert set_default_policy(tiered, "compact").error_code == 0
    tiered.write()
    assert tiered.left > 3


def test_a_server_that_starts_with_such_a_default_does_not_compact_tiered_topics() -> None:
    tiered = Tiered()
    tiered.write()
    tiered.gateway.config = replace(tiered.gateway.config, log_cleanup_policy=("compact",))
    tiered.gateway.restart()
    tiered.copy = copy_of(tiered.gateway, tiered.objects)
    assert not tiered.gateway.broker.topics.settings(tiered.gateway.broker.find_topic("t")).compacts
    tiered.settle()
    assert tiered.gateway.broker.store.blocks.fetched_bytes == 0
    assert tiered.read_all() == tiered.written


class HandedLog:
    """A log that notes what it is handed."""

    def __init__(self) -> None:
        self.log = self
        self.handed: list[list[Any]] = []

    def tier(self, records: Any) -> None:
        self.handed.append(list(records))


def test_rounds_that_prove_nothing_leave_the_logs_at_work_and_a_copy_that_stops_does_not() -> None:
    # While a backlog is copied they follow each other at once, and a log lets go of one file at a time.
    one, other, nothing = HandedLog(), HandedLog(), cast("Any", None)
    logs = cast("dict[str, Vnode]", {"one": one, "other": other})
    tiering = Tiering(nothing, nothing, nothing, lambda: logs)
    first, second = (RemoteRecord(base, salt=0, key="", size_bytes=1, crc=0) for base in (1, 2))
    tiering.let_go({"one": [first, second], "dropped": [first]})
    tiering.let_go({})
    assert (one.handed, other.handed) == ([[first, second]], [])
    tiering.let_go({"one": [second]})
    tiering.stop()
    assert (one.handed[1:], other.handed) == ([[second], []], [[]])
