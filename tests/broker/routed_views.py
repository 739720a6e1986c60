"""Many views over one topic, each for a different remainder of `id`; they share an index."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from broker.view_topics.route_index import TOGETHER_MIN, RouteIndex
from broker.view_topics.route_indexes import RouteIndexes
from protocol.records import read_batch_header
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import create, fetch
from tests.broker.views import make_view, read_all
from views.router import Router, route_steps

COLUMNS = "id bigint, body string"
VIEWS = TOGETHER_MIN + 4


def row(number: int, body_bytes: int = 0) -> bytes:
    return json.dumps({"id": number, "body": "x" * body_bytes}).encode()


def views_over(gateway: Gateway, count: int = VIEWS) -> Client:
    """Make a topic `t` and views v0, v1, … over it, one for each remainder of `id`; read each once."""
    client = gateway.client()
    create(client, "t", kawal_columns=COLUMNS)
    for number in range(count):
        make_view(client, f"v{number}", f"SELECT id FROM t WHERE id % {count} = {number}")
        fetch(client, f"v{number}")
    return client


def index_of(gateway: Gateway) -> RouteIndex:
    (index,) = gateway.broker.views.shared(RouteIndexes).indexes.values()
    return index


def ids(client: Client, name: str, offset: int = 0) -> list[int]:
    return [json.loads(record.value or b"")["id"] for record in read_all(client, name, offset=offset)]


def counting(looked: list[int]) -> Callable[..., Any]:
    """Return a `route_steps` that counts the records of each batch it processes."""

    def steps(router: Router, stored: memoryview, **options: Any) -> Any:
        looked.append(read_batch_header(stored).record_count)
        return route_steps(router, stored, **options)

    return steps
