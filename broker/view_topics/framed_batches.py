"""Views over topics whose values are framed for a schema registry (`kawal.value.format=registry`).

A batch is evaluated in a thread, as an Avro or Protobuf value takes Python some 10 to 100 us, and a hostile
one more.  The schemas that it names must be known before:

    schema_ids(batch)    in a thread: the schemas that it names
    all are known        in a thread: evaluated with exactly these
    else                 SchemasMissing: a fetch learns them and looks again; at the end that is done aside

What has no schema in the registry is unfit.  While the registry does not answer, the view shows nothing from
there on, and fetches wait as at the end: the same records are shown whenever they are read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

from broker.loop.slices import Until, WaitingSteps, in_thread
from broker.storage.schemas import Decode, Schemas
from protocol.errors import Malformed
from protocol.record_reader import iter_records

if TYPE_CHECKING:
    from broker.view_topics.view_host import ViewHost
    from views.evaluator import Evaluator
    from views.filtering import Limits, Unframe
    from views.tags import KeyTags

logger = logging.getLogger("kawal.views")

SCHEMAS_MAX: Final = 1_000
"""The schemas of one batch; records that name further ones are unfit."""

LEARNED_AT_ONCE: Final = 20
"""The schemas asked for together: all of them have to come within kawal.schema.registry.timeout.ms."""

LOG_INTERVAL_MS: Final = 10_000


class SchemasMissing(Exception):
    """A batch names schemas that are not known yet."""

    def __init__(self, identities: list[int]) -> None:
        super().__init__(f"schemas {identities} are not known yet")
        self.identities = identities


def filtered_framed(
    host: ViewHost, evaluator: Evaluator, batch: memoryview, tags: KeyTags | None, index: int
) -> WaitingSteps:
    """Find what a view shows of a batch; return a `Filtered` at the end.  Raises: SchemasMissing."""
    from views.filtering import filter_batch

    offload, schemas, limits = host.loop.scheduler.offload, host.schemas, host.limits
    named = yield from in_thread(offload, partial(schema_ids, batch, limits))
    found = {identity: schemas.find(identity) for identity in named}
    missing = [identity for identity, decode in found.items() if decode is None]
    if missing:
        raise SchemasMissing(missing)
    return (
        yield from in_thread(
            offload,
            lambda: filter_batch(
                evaluator, batch, tags=tags, partition=index, limits=limits, unframe=unframer(found)
            ),
        )
    )


def schema_ids(batch: memoryview, limits: Limits) -> list[int]:
    """Return the schemas that the values of a batch name, without repetitions."""
    from registry.framing import schema_id

    found: dict[int, None] = {}
    try:
        for record in iter_records(batch, limits.decompressed_bytes_max):
            identity = None if record.value is None else schema_id(record.value)
            if identity is not None:
                found[identity] = None
                if len(found) >= SCHEMAS_MAX:
                    break
    except Malformed:
        # Evaluated, it counts as all unfit.
        return []
    return list(found)


def unframer(decoders: dict[int, Decode | str | None]) -> Unframe:
    """Return what makes JSON of framed values, by these schemas; others, and what has no frame, are unfit."""
    from registry.errors import NotOfSchema
    from registry.framing import frame_problem, payload, schema_id

    def unframe(value: bytes | memoryview) -> bytes:
        data = bytes(value)
        identity = schema_id(data)
        if identity is None:
            raise NotOfSchema(frame_problem(data))
        decode = decoders.get(identity)
        if decode is None or isinstance(decode, str):
            raise NotOfSchema(decode or f"schema {identity} is not known")
        return decode(payload(data))

    return unframe


def learn(schemas: Schemas, identities: Iterable[int]) -> Generator[Until, None, str | None]:
    """Ask for schemas, a few at a time.  Return None when all are known, or why the registry cannot tell."""
    identities = list(identities)
    for start in range(0, len(identities), LEARNED_AT_ONCE):
        away = yield from schemas.learn(identities[start : start + LEARNED_AT_ONCE])
        if away is not None:
            return away
    return None


class SchemaLearning:
    """The schemas that views need: for fetches, and aside for views at whose end fetches wait."""

    def __init__(self, host: ViewHost) -> None:
        self._host = host
        # The views for which schemas are learned aside.
        self._aside: set[str] = set()
        self._logged_ms: int | None = None

    def steps(self, missing: SchemasMissing, view: str) -> Generator[Until, None, bool]:
        """Learn what is missing; return whether all of it is known."""
        away = yield from learn(self._host.schemas, missing.identities)
        if away is not None:
            self._log(away, view)
        return away is None

    def aside(self, missing: SchemasMissing, view: str, then: Callable[[], None]) -> None:
        """Learn what is missing beside other work, then call `then()`; not if the registry is away."""

        def work() -> WaitingSteps:
            try:
                is_known = yield from self.steps(missing, view)
            finally:
                self._aside.discard(view)
            if is_known:
                then()

        if view not in self._aside:
            self._aside.add(view)
            self._host.loop.scheduler.add_work(work())

    def _log(self, away: str, view: str) -> None:
        now_ms = self._host.loop.clock.turn_ms
        if self._logged_ms is None or now_ms - self._logged_ms >= LOG_INTERVAL_MS:
            self._logged_ms = now_ms
            logger.warning("view %r waits for schemas: %s", view, away)
