"""Requests that take long, and are answered beside those of other clients."""

from __future__ import annotations

from typing import Any

from protocol.messages.api_versions import ApiVersionsRequest
from tests.broker.gateway import Client


def long_call(client: Client, request: Any, version: int) -> Any:
    """Return the answer to a request that takes long; another client is answered in the middle of it."""
    gateway = client.gateway
    client.send(request, version)
    assert client.answers() == []
    assert gateway.broker.scheduler.pending
    other = gateway.client()
    other.send(ApiVersionsRequest(), 2)
    assert len(other.answers()) == 1
    assert client.answers() == []
    gateway.settle()
    (answer,) = client.answers()
    return answer
