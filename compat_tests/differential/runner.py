"""Running steps against one broker and collecting what came back, as plain data."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

from compat_tests.batches import Batch
from compat_tests.broker import Broker
from compat_tests.differential.plain import LEADER_EPOCHS, Names, Plain, plain
from compat_tests.differential.settling import Settler
from compat_tests.differential.steps import Step
from compat_tests.wire import RawClient
from protocol.api_keys import ApiKey
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.schema import declaration

SILENCE_SECONDS = {"kafka": 3.0, "kawal": 60.0}
"""A broker silent for this long is taken never to answer: every wait asked for is shorter.

Kafka leaves some requests without an answer. The gateway answers all, on a busy machine after a pause.
"""

CLOSED, SILENT, NO_ANSWER = {"outcome": "closed"}, {"outcome": "silent"}, {"outcome": "no answer"}


class Runner:
    """A runner that sends the steps of a sequence to one broker, each after the answer to the one before.

    A broker may have several nodes: each step says which of them gets it.
    """

    def __init__(self, nodes: Sequence[Broker], prefix: str) -> None:
        """Connect to all nodes; all topics of the sequence begin with `prefix`."""
        self.names = Names(prefix, [str(node.directory) for node in nodes])
        self._nodes = nodes
        self._clients = [RawClient(node) for node in nodes]
        self.settler = Settler(nodes, self.names)

    def close(self) -> None:
        """Disconnect."""
        for client in self._clients:
            client.close()
        self.settler.close()

    def run(self, step: Step) -> Plain:
        """Send one step and return what came of it."""
        self.names.node = step.node
        request = resolve(step.request, self.names)
        client = self._clients[step.node]
        client.socket.settimeout(SILENCE_SECONDS[self._nodes[step.node].kind])
        try:
            if step.api is ApiKey.PRODUCE and step.request.acks == 0:
                return _run_unanswered(client, request, step.version)
            answer = client.call(request, step.version)
        except TimeoutError:
            return self._connect_again(step.node, SILENT)
        except (ConnectionError, AssertionError) as error:
            if isinstance(error, AssertionError) and "closed the connection" not in str(error):
                raise
            return self._connect_again(step.node, CLOSED)
        self.settler.settle(step, answer)
        self.names.mentioned = set(texts(step.request))
        return plain(answer, step.version, self.names)

    def _connect_again(self, node: int, outcome: Plain) -> Plain:
        self._clients[node].close()
        self._clients[node] = RawClient(self._nodes[node])
        return dict(outcome)


def _run_unanswered(client: RawClient, request: Any, version: int) -> Plain:
    client.send(request, version, answered=False)
    client.call(ApiVersionsRequest(), 0)
    return dict(NO_ANSWER)


def run_steps(broker: Broker, prefix: str, steps: Iterable[Step]) -> list[Plain]:
    """Run a whole sequence on new connections."""
    runner = Runner([broker], prefix)
    try:
        return [runner.run(step) for step in steps]
    finally:
        runner.close()


def texts(value: Any) -> Iterator[str]:
    """Return every text in a request."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
    elif hasattr(type(value), "__wire__"):
        for field in declaration(type(value)).fields:
            yield from texts(getattr(value, field.name))


def resolve(value: Any, names: Names, field: str = "") -> Any:
    """Return a copy of a request with real ids in place of stand-ins, and its batches encoded."""
    if isinstance(value, Batch):
        return dataclasses.replace(value, producer_id=names.real_producer(value.producer_id)).encode()
    if field == "records" and isinstance(value, tuple):
        return b"".join(resolve(part, names, field) for part in value)
    if isinstance(value, UUID):
        return names.real_topic(value)
    if isinstance(value, list):
        return [resolve(item, names, field) for item in value]
    if isinstance(value, str):
        return names.real_member(value)
    if field == "session_id":
        return names.real_session(value)
    if field in LEADER_EPOCHS:
        return names.real_epoch(value)
    if field.endswith("producer_id"):
        return names.real_producer(value)
    if not hasattr(type(value), "__wire__"):
        return value
    fields = {item.name: item.name for item in declaration(type(value)).fields}
    return type(value)(**{name: resolve(getattr(value, name), names, name) for name in fields})
