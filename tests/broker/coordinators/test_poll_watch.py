"""kawal.max.poll.interval.ms: members that send heartbeats and do not poll lose their partitions."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.kawal_groups import KawalGroupsRequest
from tests.broker.gateway import Client, Gateway
from tests.broker.groups import beating, commit
from tests.broker.kit import batch, create, fetch, send

GROUP = 32


def limited(client: Client, group_id: str, limit_ms: int) -> None:
    config = AlterableConfig(name="kawal.max.poll.interval.ms", config_operation=0, value=str(limit_ms))
    resource = AlterConfigsResource(resource_type=GROUP, resource_name=group_id, configs=[config])
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
    assert client.call(request, 1).responses[0].error_code == 0


def started(**settings: Any) -> tuple[Gateway, Client, int]:
    """Return a broker with the member m of group g, which has the one partition of t, and its epoch."""
    gateway = Gateway(kawal_rebalance_interval_ms=0, group_consumer_session_timeout_ms=45_000, **settings)
    client = gateway.client()
    create(client, "t")
    send(client, "t", batch(b"a", b"b"))
    epoch: int = client.call(beating("g", "m", topics=["t"]), 1).member_epoch
    return gateway, client, epoch


def live(gateway: Gateway, client: Client, epoch: int, seconds: int, *, fetches: bool = False) -> int:
    """Let the member send heartbeats, and fetch if it is to; return the last heartbeat's error."""
    code = 0
    for _ in range(seconds):
        gateway.advance(1_000)
        code = client.call(beating("g", "m", epoch), 1).error_code
        if fetches:
            fetch(client, "t")
    return code


def statuses(client: Client) -> dict[str, str]:
    rows = client.call(KawalGroupsRequest(group_ids=["g"]), 0).consumers
    return {row.consumer_id: row.status for row in rows}


def test_a_member_that_does_not_poll_is_removed_and_its_partition_is_free() -> None:
    gateway, client, epoch = started()
    limited(client, "g", 10_000)
    assert live(gateway, client, epoch, 9) == 0
    assert live(gateway, client, epoch, 5) == ErrorCode.UNKNOWN_MEMBER_ID
    assert statuses(client) == {"m": "lost"}
    other = gateway.client().call(beating("g", "n", topics=["t"]), 1)
    assert other.assignment.topic_partitions[0].partitions == [0]


def test_a_member_that_fetches_or_commits_stays() -> None:
    gateway, client, epoch = started()
    limited(client, "g", 5_000)
    assert live(gateway, client, epoch, 12, fetches=True) == 0
    for offset in range(3):
        assert live(gateway, client, epoch, 3) == 0
        commit(client, "g", ("t", 0, offset), member=("m", epoch))
    assert live(gateway, client, epoch, 8) == ErrorCode.UNKNOWN_MEMBER_ID


def test_without_a_limit_nothing_is_watched() -> None:
    gateway, client, epoch = started()
    limited(client, "another", 1_000)
    assert live(gateway, client, epoch, 30) == 0


def test_the_servers_limit_is_for_groups_without_one_of_their_own() -> None:
    gateway, client, epoch = started(kawal_max_poll_interval_ms=5_000)
    assert live(gateway, client, epoch, 9) == ErrorCode.UNKNOWN_MEMBER_ID
    gateway, client, epoch = started(kawal_max_poll_interval_ms=5_000)
    limited(client, "g", 0)
    assert live(gateway, client, epoch, 30) == 0


def test_a_member_without_partitions_has_nothing_to_poll() -> None:
    gateway, client, epoch = started()
    limited(client, "g", 5_000)
    spare = gateway.client()
    joined = spare.call(beating("g", "spare", topics=["t"]), 1)
    for _ in range(12):
        live(gateway, client, epoch, 1, fetches=True)
        found = spare.call(beating("g", "spare", joined.member_epoch), 1)
        epoch, joined = joined.member_epoch or epoch, found if found.member_epoch else joined
    assert set(statuses(client).values()) == {"ready"}


@pytest.mark.parametrize("jump_ms", [3_600_000, -3_600_000])
def test_a_jump_of_the_wall_clock_gives_members_the_whole_interval_again(jump_ms: int) -> None:
    gateway, client, epoch = started()
    limited(client, "g", 10_000)
    assert live(gateway, client, epoch, 8) == 0
    gateway.broker.set_clocks(now_ms=gateway.now_ms, wall_ms=gateway.now_ms + jump_ms)
    assert live(gateway, client, epoch, 8) == 0


def test_after_a_restart_members_have_the_whole_interval_again_and_no_more() -> None:
    gateway, client, epoch = started()
    limited(client, "g", 10_000)
    live(gateway, client, epoch, 8)
    gateway.restart()
    client = gateway.client()
    assert live(gateway, client, epoch, 8) == 0
    assert live(gateway, client, epoch, 8) == ErrorCode.UNKNOWN_MEMBER_ID
