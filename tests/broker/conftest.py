"""A broker on a simulated disk and a client of it, for the tests of this folder.

A test file that wants other settings names them in `SETTINGS`, the topics that there are in `TOPICS` (name:
number of partitions).  A file whose broker is more special makes a fixture of the same name.
"""

from __future__ import annotations

import pytest

from tests.broker.gateway import Client, Gateway
from tests.broker.kit import create


@pytest.fixture
def gateway(request: pytest.FixtureRequest) -> Gateway:
    """Return a broker with the settings of the test's file."""
    return Gateway(**getattr(request.module, "SETTINGS", {}))


@pytest.fixture
def client(request: pytest.FixtureRequest, gateway: Gateway) -> Client:
    """Return a client of the broker, which has made the topics of the test's file."""
    client = gateway.client()
    for name, partitions in getattr(request.module, "TOPICS", {}).items():
        create(client, name, partitions)
    return client
