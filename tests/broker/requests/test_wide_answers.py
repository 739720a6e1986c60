"""However often a request names a part of something, its answer is not far larger: over every API.

A partition takes four bytes of a request; a sentence about it, with the name of its topic, took 1,000 of
the answer, and 200,000 partitions 400 MB.
"""

from __future__ import annotations

from typing import Any

import pytest

from broker.handlers import APIS, Api
from protocol.schema import declaration
from tests.broker.gateway import Client, Gateway, request_frame, take_outgoing
from tests.broker.kit import create
from tests.broker.requests.test_wide_requests import arrays
from tests.broker.wide_requests import Path, Wide

WIDTH = 2_000

ELEMENT_BYTES = 100
"""What an element may take in the answer: its numbers, and a constant sentence."""

SENTENCES_BYTES = 80_000
"""What all others may take, and what surrounds them."""

KNOWN, WRONG = "k" * 249, "w!" * 1_000
"""The longest name of a topic that there is, and a name that no topic can have."""


def rename(message: Any, path: Path, name: str) -> None:
    """Give everything around the array at `path` this name."""
    for step in path:
        for field in message.__dataclass_fields__:
            if isinstance(getattr(message, field), str) and getattr(message, field):
                setattr(message, field, name)
        inner = getattr(message, step)
        message = inner[0] if isinstance(inner, list) else inner


def answer_bytes(gateway: Gateway, client: Client, request: Any, version: int) -> int:
    """Return the size of the answer, as far as it comes without the passing of time."""
    client.send(request, version)
    size = 0
    for _ in range(WIDTH):
        gateway.settle()
        found = len(take_outgoing(client.connection))
        if not found:
            break
        size += found
    return size


@pytest.mark.parametrize("name", [KNOWN, WRONG], ids=["known", "wrong"])
@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_no_answer_repeats_what_its_request_says_once(api: Api, name: str) -> None:
    api.load()
    gateway = Gateway()
    create(gateway.client(), KNOWN, 2)
    topic_id = gateway.broker.find_topic(KNOWN).topic_id
    width = min(WIDTH, declaration(api.request_type()).elements_max // 4)
    large: list[str] = []
    for version, path in arrays(api):
        if len(path) < 2:
            continue
        request = Wide(path, width, topic_id).message(api.request_type(), version)
        rename(request, path, name)
        allowed = 4 * len(request_frame(request, version, 1)) + width * ELEMENT_BYTES + SENTENCES_BYTES
        size = answer_bytes(gateway, gateway.client(), request, version)
        if size > allowed:
            large.append(f"v{version} {'.'.join(path)}: {size} bytes, {size / width:.0f} an element")
    assert not large
