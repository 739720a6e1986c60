"""The inspection of a batch whose values are checked: in a thread, with the schemas that they name."""

from __future__ import annotations

from collections.abc import Callable, Generator

from broker.config.topic_settings import TopicSettings
from broker.loop.loop import Loop
from broker.loop.slices import Until, in_thread
from broker.storage.inspection import Inspection, inspect
from broker.storage.schemas import Schemas
from broker.storage.value_checks import ColumnsCheck, RegistryCheck, ValueCheck


def inspected_values(
    loop: Loop,
    records: bytes | bytearray | memoryview,
    settings: TopicSettings,
    schemas: Callable[[], Schemas],
) -> Generator[Until, None, Inspection]:
    """Inspect a batch; schemas that are not known are asked for, some at a time while there are more.

    A batch that names one that does not exist asks for no others after it: it is refused.
    """
    offload = loop.scheduler.offload
    if settings.kawal_schema_validation == "columns":
        columns = settings.kawal_columns
        return (yield from in_thread(offload, lambda: inspect(records, settings, ColumnsCheck(columns))))
    known = schemas()

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
