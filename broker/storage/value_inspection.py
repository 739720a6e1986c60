"""The inspection of a batch in a thread; if its values are checked, with the schemas that they name."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Protocol

from broker.config.topic_settings import TopicSettings
from broker.loop.loop import Loop
from broker.loop.slices import Until, in_thread
from broker.storage.inspection import Inspection, inspect, inspect_keys
from broker.storage.schemas import Schemas
from broker.storage.value_checks import ColumnsCheck, RegistryCheck, ValueCheck
from protocol.records import HEADER_BYTES


class Node(Loop, Protocol):
    """The parts of a broker that an inspection takes."""

    @property
    def schemas(self) -> Schemas:
        """The schemas that values name; made when they are first needed."""


def inspected(
    node: Node, records: bytes | bytearray | memoryview | None, settings: TopicSettings
) -> Generator[Until, None, Inspection]:
    """Inspect a batch, which is not checked yet, in a thread."""
    if records is None or len(records) < HEADER_BYTES:
        return Inspection(settings)  # refused by its head
    if settings.checks_values:
        return (yield from _inspected_values(node, records, settings))
    if settings.opens_batches:
        return (yield from in_thread(node.scheduler.offload, lambda: inspect(records, settings)))
    return (yield from in_thread(node.scheduler.offload, lambda: inspect_keys(records, settings)))


def _inspected_values(
    node: Node, records: bytes | bytearray | memoryview, settings: TopicSettings
) -> Generator[Until, None, Inspection]:
    """Inspect a batch; schemas that are not known are asked for, some at a time while there are more.

    A batch that names one that does not exist asks for no others after it: it is refused.
    """
    offload = node.scheduler.offload
    if settings.kawal_schema_validation == "columns":
        columns = settings.kawal_columns
        return (yield from in_thread(offload, lambda: inspect(records, settings, ColumnsCheck(columns))))
    known = node.schemas

    def look(*, trusting: bool = False) -> Callable[[], Inspection]:
        check: ValueCheck = RegistryCheck(known, trusting=trusting)
        return lambda: inspect(records, settings, check)

    while True:
        found = yield from in_thread(offload, look())
        if found.misfits or not found.missing:
            return found
        away = yield from known.learn(found.missing)
        if away is None:
            continue
        if not known.trusts_when_away:
            return found._replace(undecided=away)
        return (yield from in_thread(offload, look(trusting=True)))
