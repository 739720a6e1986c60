"""An answer waits for the disk and reports changes that were lost."""

from __future__ import annotations

import errno

import pytest

from protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResource
from tests.broker.gateway import Gateway
from wal.memory_faults import failing


@pytest.mark.parametrize(("broken", "code"), [(False, 0), (True, 56)])
def test_nothing_is_answered_before_the_change_is_durable(broken: bool, code: int) -> None:
    gateway = Gateway()
    client = gateway.client()
    if broken:
        gateway.disk.faults.append(failing("sync", errno.EIO))
    group = AlterConfigsResource(resource_type=32, resource_name="g", configs=[])
    client.send(AlterConfigsRequest(resources=[group], validate_only=False), 2)
    assert client.answers() == []
    gateway.settle()
    assert [response.error_code for response in client.answers()[0].responses] == [code]
