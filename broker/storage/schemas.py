"""The schemas that produced values name: asked of the registry once, kept, and never waited for without end.

Lookups run in a thread that does nothing else, so that a registry that is slow or away holds up those alone
that wait for a schema they are the first to use.  After a lookup that failed the registry is left alone for a
while, and who needs it learns at once that it is away.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Any, Final, NamedTuple

from broker.config.config import Config
from broker.loop.loop import Loop
from broker.loop.slices import Offload, Until, run_here
from broker.loop.timers import Timer

Decode = Callable[[bytes], bytes]
"""Returns the JSON of a payload.  Raises: registry.errors.RegistryError."""

Ask = Callable[[str], Any]

Registry = Callable[[Config], Ask]
"""Makes, in a thread, what asks the configured registry for the JSON at a path."""

KEPT_MAX: Final = 10_000
"""The schemas kept; a client can name any number of those that the registry knows."""

REFUSED_MS: Final = 10_000
"""How long a schema that the registry does not know, or that cannot be read, is not asked for again."""

REST_MS: Final = 1_000
"""How long a registry that did not answer is left alone."""

LOOKUPS_MAX: Final = 1_000
"""The lookups that may wait for the thread."""


def no_registry(_config: Config) -> Ask:
    """Stand in for a registry where there is none."""

    def ask(_path: str) -> Any:
        from registry.errors import Unreachable

        raise Unreachable("this server has no schema registry")

    return ask


class Lookups(NamedTuple):
    """The ways out to a registry: what asks it, and what runs that in a thread of its own."""

    registry: Registry = no_registry
    offload: Offload = run_here


class Schemas:
    """The cache of one broker.  The event loop changes it; threads that check values read it."""

    def __init__(self, loop: Loop, config: Callable[[], Config], lookups: Lookups | None = None) -> None:
        self._loop = loop
        self._config = config
        self._registry, self._offload = lookups or Lookups()
        self._decoders: dict[int, Decode] = {}
        self._refused: dict[int, tuple[int, str]] = {}
        self._running: set[int] = set()
        self._waiting: list[_Waiting] = []
        self._rests_until_ms = 0
        self._why_away = ""

    def find(self, identity: int) -> Decode | str | None:
        """Return what decodes the values of a schema, why nothing does, or None: that is not known yet."""
        decode = self._decoders.get(identity)
        if decode is not None:
            return decode
        refused = self._refused.get(identity)
        return refused[1] if refused is not None and self._loop.clock.turn_ms < refused[0] else None

    @property
    def trusts_when_away(self) -> bool:
        """Whether values are accepted while the registry cannot be asked about them."""
        return self._config().kawal_schema_registry_unavailable == "accept"

    def learn(self, identities: Iterable[int]) -> Generator[Until, None, str | None]:
        """Ask the registry for schemas.  Return None when all are known, or why it cannot tell in time."""
        wanted = frozenset(identity for identity in identities if self.find(identity) is None)
        now_ms = self._loop.clock.turn_ms
        if wanted and now_ms < self._rests_until_ms:
            return self._why_away
        if len(self._running) + len(wanted - self._running) > LOOKUPS_MAX:
            return f"more than {LOOKUPS_MAX} schemas wait for the schema registry"
        if wanted:
            yield Until(lambda resume: self._begin(wanted, resume))
        if all(self.find(identity) is not None for identity in wanted):
            return None
        return self._why_away

    def _begin(self, wanted: frozenset[int], resume: Callable[[], None]) -> None:
        timeout_ms = self._config().kawal_schema_registry_timeout_ms
        why = f"the schema registry did not answer within {timeout_ms} ms"
        ends_ms = self._loop.clock.turn_ms + timeout_ms
        self._waiting.append(
            _Waiting(wanted, resume, self._loop.timers.add(ends_ms, lambda now_ms: self._away(now_ms, why)))
        )
        for identity in wanted - self._running:
            self._look_up(identity, ends_ms)

    def _look_up(self, identity: int, ends_ms: int) -> None:
        config, found = self._config(), _Found()
        self._running.add(identity)

        def work() -> None:
            # What nothing waits for any more must not hold up what does.
            if self._loop.clock.turn_ms <= ends_ms:
                found.take(identity, self._registry(config))

        def done(error: Exception | None) -> None:
            self._running.discard(identity)
            self._take(identity, found, error)

        self._offload(work, done)

    def _take(self, identity: int, found: _Found, error: Exception | None) -> None:
        """Keep what a lookup has found, and let those go on that waited for nothing else."""
        now_ms = self._loop.clock.turn_ms
        if found.decode is not None:
            _keep(self._decoders, identity, found.decode)
            self._rests_until_ms = 0
        elif found.refused:
            _keep(self._refused, identity, (now_ms + REFUSED_MS, found.refused))
        elif found.away or error is not None:
            self._away(now_ms, found.away or f"asking the schema registry failed: {error!r}")
        self._wake(lambda waiting: all(self.find(wanted) is not None for wanted in waiting.wanted))

    def _away(self, now_ms: int, why: str) -> None:
        """Let all go on that wait: the registry does not answer."""
        self._rests_until_ms, self._why_away = now_ms + REST_MS, why
        self._wake(lambda _: True)

    def _wake(self, is_over: Callable[[_Waiting], bool]) -> None:
        ended = [waiting for waiting in self._waiting if is_over(waiting)]
        self._waiting = [waiting for waiting in self._waiting if waiting not in ended]
        for waiting in ended:
            waiting.timer.cancel()
            waiting.resume()


class _Waiting(NamedTuple):
    """A request that waits for schemas."""

    wanted: frozenset[int]
    resume: Callable[[], None]
    timer: Timer


class _Found:
    """The result of a lookup; one of the three."""

    def __init__(self) -> None:
        self.decode: Decode | None = None
        self.refused = ""
        self.away = ""

    def take(self, identity: int, ask: Ask) -> None:
        """Look a schema up; in a thread."""
        from registry.errors import SchemaProblem, Unreachable
        from registry.schemas import load

        try:
            self.decode = load(identity, ask)
            self.refused = "" if self.decode else f"the schema registry has no schema {identity}"
        except SchemaProblem as error:
            self.refused = f"schema {identity} cannot be read: {error}"
        except Unreachable as error:
            self.away = str(error)


def _keep(kept: dict[int, Any], identity: int, value: Any) -> None:
    """Keep a value, and let the oldest go when there are too many."""
    if identity not in kept and len(kept) >= KEPT_MAX:
        del kept[next(iter(kept))]
    kept[identity] = value
