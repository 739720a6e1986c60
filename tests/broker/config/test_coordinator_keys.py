"""The keys of transactional ids and of offsets are keys of the server, and limits take effect at once."""

from __future__ import annotations

from broker.config.coordinator_keys import OFFSET_KEYS, TRANSACTION_KEYS
from broker.config.server_keys import KEYS
from protocol.error_codes import ErrorCode
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.broker.gateway import Gateway
from tests.broker.groups import codes, committing
from tests.broker.kit import create

BROKER = 4


def test_they_are_keys_of_the_server() -> None:
    assert all(KEYS[key.name] is key for key in (*OFFSET_KEYS, *TRANSACTION_KEYS))


def test_the_memory_for_offsets_can_be_changed_while_the_server_runs() -> None:
    client = Gateway(kawal_vnodes=1, kawal_offsets_max_bytes=1_024).client()
    create(client, "t", 9)
    offsets = [("t", number, 1) for number in range(9)]
    assert ErrorCode.COORDINATOR_NOT_AVAILABLE in codes(client.call(committing("g", *offsets), 9))
    config = AlterableConfig(name="kawal.offsets.max.bytes", config_operation=0, value="100000")
    resource = AlterConfigsResource(resource_type=BROKER, resource_name="", configs=[config])
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
    assert client.call(request, 1).responses[0].error_code == 0
    assert set(codes(client.call(committing("g", *offsets), 9))) == {0}
