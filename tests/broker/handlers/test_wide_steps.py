"""Whatever a request names very many of, no step of its answer handles a large part of them."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from broker.handlers import APIS
from protocol.api_keys import ApiKey
from protocol.messages import request_type
from protocol.schema import declaration
from tests.broker.wide import Path, WideGateway, measuring, paths

ELEMENTS = 3_000
TOPICS = 1_000
BLOCKS_MAX = 3_500
"""What is kept of an element that a request names takes two blocks of memory or more, with few exceptions."""

DESTROYING = (ApiKey.DELETE_RECORDS, ApiKey.DELETE_GROUPS, ApiKey.DELETE_TOPICS)
"""These come last: the others are to meet what was there, and they what the others have left."""

CASES = [
    pytest.param(api, path, known, id=f"{api.name}-{'.'.join(path)}-{'known' if known else 'unknown'}")
    for api in sorted(map(ApiKey, APIS), key=lambda api: (api in DESTROYING, api))
    for path in paths(request_type(api), APIS[api].maximum)
    for known in (True, False)
]


@pytest.fixture(scope="module")
def gateway() -> WideGateway:
    """One for all: what a request leaves behind is what the next one meets."""
    return WideGateway(ELEMENTS, TOPICS)


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    yield
    gc.enable()


@pytest.mark.parametrize(("api", "path", "known"), CASES)
def test_no_step_handles_a_large_part_of_a_wide_request(
    gateway: WideGateway, monkeypatch: pytest.MonkeyPatch, api: ApiKey, path: Path, known: bool
) -> None:
    cls, version = request_type(api), APIS[api].maximum
    count = min(ELEMENTS, declaration(cls).elements_max // 2)
    client = gateway.client()
    measuring(gateway, monkeypatch)
    large: dict[str, int] = {}
    for _ in range(2):  # the second time nothing is made at its first use
        gateway.sizes.clear()
        client.send(gateway.request(cls, version, path, count, known=known), version)
        gateway.settle()
        large = {place: size for place, size in gateway.sizes.items() if size > BLOCKS_MAX}
        if not large:
            break
    client.close()
    assert large == {}
