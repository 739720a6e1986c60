"""Whatever a request names very many of, no step of its answer handles a large part of them."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from broker.handlers import APIS, OF_NODES
from protocol.api_keys import ApiKey
from protocol.messages import request_type
from protocol.schema import declaration
from tests.broker.gateway import Client
from tests.broker.wide import Path, WideCluster, WideGateway, measuring, paths

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


@pytest.fixture(scope="module")
def cluster() -> WideCluster:
    """One for all, of two nodes."""
    return WideCluster(ELEMENTS, TOPICS)


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    yield
    gc.enable()


@pytest.mark.parametrize(("api", "path", "known"), CASES)
def test_no_step_handles_a_large_part_of_a_wide_request(
    gateway: WideGateway, monkeypatch: pytest.MonkeyPatch, api: ApiKey, path: Path, known: bool
) -> None:
    client = gateway.client()
    measuring(gateway, monkeypatch)
    assert large_steps(gateway, client, api, path, known=known) == {}


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize(("api", "path", "known"), [case for case in CASES if case.values[0] not in OF_NODES])
def test_nor_does_one_of_two_nodes_which_ask_each_other(
    cluster: WideCluster,
    monkeypatch: pytest.MonkeyPatch,
    api: ApiKey,
    path: Path,
    known: bool,
    number: int,
) -> None:
    client = cluster[number].client()
    measuring(cluster, monkeypatch)
    assert large_steps(cluster, client, api, path, known=known) == {}


def large_steps(
    world: WideGateway | WideCluster, client: Client, api: ApiKey, path: Path, *, known: bool
) -> dict[str, int]:
    """Return the large steps of two requests; only in the second nothing is made at its first use."""
    cls, version = request_type(api), APIS[api].maximum
    count = min(ELEMENTS, declaration(cls).elements_max // 2)
    large: dict[str, int] = {}
    for _ in range(2):
        world.sizes.clear()
        client.send(world.request(cls, version, path, count, known=known), version)
        world.settle()
        large = {place: size for place, size in world.sizes.items() if size > BLOCKS_MAX}
        if not large:
            break
    client.close()
    return large
