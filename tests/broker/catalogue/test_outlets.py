"""Outlets of closed partitions: they store what is sent there, once it is known what comes before."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.broker.catalogue.test_renewal import MODE, SPEED_CONFIG, begin, filled
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import create, outcomes, producing, send
from tests.broker.splits import HIGH, LOW, keyed, values_of
from tests.broker.topic_requests import partition_count
from wal.memory_faults import Fault


@pytest.fixture
def gateway() -> Gateway:
    """Return a gateway with two logs, as many as there are by default."""
    return Gateway(kawal_vnodes=2)


@pytest.fixture
def client(gateway: Gateway) -> Client:
    return gateway.client()


def test_records_without_keys_go_to_the_successor_of_a_closed_partition(client: Client) -> None:
    filled(client)
    begin(client)
    assert send(client, "t", keyed((None, b"free")), 1).base_offset == -1
    assert send(client, "t", keyed((None, b"free")), 0).base_offset == 2
    assert values_of(client, 3) == [b"free"]
    assert values_of(client, 1) == [b"h1", b"l1"]


def test_an_empty_topic_over_several_logs_goes_on_with_successors(client: Client) -> None:
    create(client, "t", 2, **SPEED_CONFIG)
    begin(client)
    assert partition_count(client, "t") == 4
    assert send(client, "t", keyed((HIGH, b"H"), (LOW, b"L")), 1).error_code == 0
    assert [values_of(client, index) for index in range(4)] == [[], [], [b"L"], [b"H"]]


@pytest.mark.parametrize("ending", ["durable", "lost", "refused"])
def test_writes_wait_until_it_is_known_what_a_closed_partition_got_last(
    gateway: Gateway, ending: str
) -> None:
    client, writer, other = (gateway.client() for _ in range(3))
    filled(client)
    slow = gateway.partition("t", 1).vnode
    writer.send(producing(("t", 1, keyed((HIGH, b"last"), producer=(7, 0, 0)))), 9)
    config = AlterableConfig(name=MODE, config_operation=0, value="up")
    resource = AlterConfigsResource(resource_type=2, resource_name="t", configs=[config])
    client.send(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1)
    held: list[Any] = []
    for _ in range(9):
        jobs = list(gateway.broker.take_jobs(gateway.now_ms))
        held += [(vnode, job) for vnode, job in jobs if vnode is slow]
        gateway.finish([(vnode, job) for vnode, job in jobs if vnode is not slow])
    assert len(client.answers()) == 1
    other.send(producing(("t", 0, keyed((HIGH, b"next")))), 9)
    writer.send(producing(("t", 1, keyed((HIGH, b"later"), producer=(7, 0, 1)))), 9)
    assert gateway.partition("t", 3).log_end == 0, "it is not known yet what comes before"
    if ending == "lost":
        gateway.crash()
        assert values_of(gateway.client(), 3) == []
        return
    if ending == "refused":
        gateway.disk.faults.append(lambda call: Fault(errno.EIO) if call.kind == "sync" else None)
        gateway.finish(held)
        gateway.disk.faults.clear()
    else:
        gateway.finish(held)
    gateway.settle()
    codes = [outcomes(answer)[0].error_code for answer in writer.answers()]
    if ending == "durable":
        assert codes == [0, 0]
        assert values_of(gateway.client(), 1)[-1:] == [b"last"]
        assert values_of(gateway.client(), 3) == [b"next", b"later"]
    else:
        assert codes[0] == ErrorCode.KAFKA_STORAGE_ERROR
        assert codes[1] != 0, "it may not come before what was refused"
