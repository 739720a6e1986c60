"""InitProducerId: ids that no other producer has or will have."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.init_producer_id import InitProducerIdRequest
from tests.broker.gateway import Client, Gateway
from wal.memory_faults import failing


def request(transactional_id: str | None = None) -> InitProducerIdRequest:
    return InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=60_000)


def ask(client: Client, version: int = 4, **fields: Any) -> Any:
    return client.call(request(**fields), version)


@pytest.mark.parametrize("version", range(6))
def test_ids_begin_at_0_with_epoch_0(version: int) -> None:
    answer = ask(Gateway().client(), version)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (0, 0, 0)


def test_ids_are_given_out_once() -> None:
    gateway = Gateway()
    ids = [ask(gateway.client()).producer_id for _ in range(20)]
    assert ids == list(range(20))


@pytest.mark.parametrize("how", ["crash", "restart"])
def test_ids_go_on_above_all_that_were_given_out(how: str) -> None:
    gateway = Gateway()
    given = {ask(gateway.client()).producer_id for _ in range(5)}
    for _ in range(3):
        getattr(gateway, how)()
        new = ask(gateway.client()).producer_id
        assert new > max(given)
        given.add(new)


def test_no_id_leaves_before_its_block_is_durable() -> None:
    gateway = Gateway()
    clients = [gateway.client() for _ in range(3)]
    for client in clients:
        client.send(request(), 4)
    assert [client.answers() for client in clients] == [[], [], []]
    gateway.settle()
    assert [client.answers()[0].producer_id for client in clients] == [0, 1, 2]


def test_more_callers_than_a_block_has_ids_are_all_served() -> None:
    gateway = Gateway()
    client = gateway.client()
    for _ in range(2_500):
        client.send(request(), 4)
    seen = []
    for _ in range(10):
        gateway.settle()
        seen += [answer.producer_id for answer in client.answers()]
    assert seen == list(range(2_500))
    gateway.crash()
    assert ask(gateway.client()).producer_id >= 2_500


def test_a_block_that_the_disk_loses_gives_no_ids() -> None:
    gateway = Gateway()
    client = gateway.client()
    client.send(request(), 4)
    client.send(request(), 4)
    gateway.disk.faults.append(failing("sync", errno.EIO, path="meta"))
    gateway.run_jobs()
    codes = [(answer.error_code, answer.producer_id) for answer in client.answers()]
    assert codes == [(ErrorCode.KAFKA_STORAGE_ERROR, -1)] * 2
    refused = gateway.client()
    refused.send(request(), 4)
    assert refused.answers()[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    gateway.settle()
    first = ask(client).producer_id
    gateway.crash()
    assert ask(gateway.client()).producer_id > first


def test_the_empty_transactional_id_is_invalid() -> None:
    answer = ask(Gateway().client(), transactional_id="")
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (
        ErrorCode.INVALID_REQUEST,
        -1,
        -1,
    )
