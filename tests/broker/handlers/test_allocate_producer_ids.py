"""AllocateProducerIds: other nodes get blocks of producer ids, each once; clients get none."""

from __future__ import annotations

import errno

from broker.catalogue.producer_ids import BLOCK_SIZE
from protocol.error_codes import ErrorCode
from protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from tests.broker.cluster import Cluster
from tests.broker.gateway import Gateway
from wal.memory_faults import failing

ASKED = AllocateProducerIdsRequest(broker_id=1)


def test_each_block_begins_where_the_last_one_ends() -> None:
    cluster = Cluster(2)
    blocks = [cluster.ask(0, ASKED, 0) for _ in range(3)]
    first = blocks[0].producer_id_start
    assert [(block.producer_id_start, block.producer_id_len) for block in blocks] == [
        (first + number * BLOCK_SIZE, BLOCK_SIZE) for number in range(3)
    ]


def test_a_block_that_cannot_be_recorded_is_not_given() -> None:
    cluster = Cluster(2)
    cluster[0].disk.faults.append(failing("sync", errno.EIO, path="meta"))
    first = cluster[0].broker.catalogue.next_producer_id
    assert cluster.ask(0, ASKED, 0).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    cluster[0].settle()
    assert cluster.ask(0, ASKED, 0).producer_id_start == first


def test_a_node_that_is_not_the_controller_gives_none() -> None:
    assert Cluster(2).ask(1, ASKED, 0).error_code == ErrorCode.NOT_CONTROLLER


def test_a_client_that_asks_loses_its_connection() -> None:
    gateway = Gateway()
    client = gateway.client()
    client.send(ASKED, 0)
    gateway.settle()
    assert client.connection.close_reason == "api 67 is not served"
    assert client.answers() == []
