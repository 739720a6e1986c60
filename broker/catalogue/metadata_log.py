"""The log of the catalogue: changes are recorded in the `meta` WAL, and take effect with their records.

append      the record joins the `meta` WAL's open frame, and the catalogue plans the change
durable     the change is confirmed, listeners learn of it, then its request is answered (`when_durable`)
failed      the change is undone, newest first, and its request gets the error
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from broker.catalogue.catalogue_changes import CatalogueChanges
from broker.catalogue.catalogue_records import CatalogueRecord, encode_record
from broker.catalogue.topics import Catalogue, Change
from broker.errors import storage_error
from broker.loop.clock import Clock
from broker.loop.internal_errors import ErrorPlace, InternalErrors
from broker.storage.vnode import Vnode
from broker.storage.vnodes import Vnodes
from protocol.error_codes import ErrorCode
from wal.catalogue import Catalogue as StoredCatalogue
from wal.disk import DiskError
from wal.errors import WalError

if TYPE_CHECKING:
    from broker.catalogue.audited_changes import ChangeAudit

Listener: TypeAlias = Callable[[CatalogueRecord, int], None]
"""Called with each change that has become durable, and the time (ms)."""


class RecordedWaiter:
    """A waiter that calls `done(error)` once a change is on the disk, and in the logs of its database."""

    __slots__ = ("_changes", "_done")

    def __init__(self, changes: CatalogueChanges, done: Callable[[ErrorCode | None], None]) -> None:
        self._changes = changes
        self._done = done

    def appended(self, _vnode: Vnode, error: ErrorCode | None, now_ms: int) -> None:
        """Pass on the outcome of the change."""
        if error is not None:
            self._done(error)
        else:
            self._changes.when_durable(lambda: self._done(None), now_ms)


class MetadataLog:
    """The `meta` WAL with the catalogue that its records make up."""

    def __init__(
        self, catalogue: Catalogue, log: StoredCatalogue, vnodes: Vnodes, clock: Clock, errors: InternalErrors
    ) -> None:
        self._catalogue = catalogue
        self._log = log
        self._meta = vnodes.meta
        # The version after the last change: other entries, which nodes may learn of late, come after it.
        self._changed = vnodes.meta.log.next_version
        self._clock = clock
        self._errors = errors
        # Changes that are not durable yet, oldest first.
        self._planned: deque[tuple[int, Change, CatalogueRecord]] = deque()
        # By how much they make the catalogue grow, by their versions.
        self._added: dict[int, int] = {}
        self._listeners: list[Listener] = []
        self._waiting: dict[object, Callable[[], None]] = {}
        # Writes changes of topics into the logs of their database.
        self.changes = CatalogueChanges(catalogue, vnodes)
        # Records who makes each change, on an audited server.
        self.audit: ChangeAudit | None = None

    def listen(self, listener: Listener) -> None:
        """Call `listener(record, now_ms)` for each change that becomes durable from now on."""
        self._listeners.append(listener)

    def when_changed(self, resume: Callable[[], None]) -> Callable[[], None]:
        """Call `resume()` once, after the next change that becomes durable or is lost.

        What is returned forgets that; it may be called in any case.
        """
        place = object()
        self._waiting[place] = resume

        def forget() -> None:
            self._waiting.pop(place, None)

        return forget

    @property
    def settled_version(self) -> int | None:
        """The version below which every record is durable and counts; None while some are on their way."""
        log = self._meta.log
        return log.next_version if self._meta.last_version < log.next_version and not self._planned else None

    @property
    def known_version(self) -> int:
        """The version below which other nodes know all that is known here, once they have come so far."""
        return self._changed

    def append(
        self, record: CatalogueRecord, now_ms: int, *, confirmed: Callable[[], None] | None = None
    ) -> None:
        """Record and plan a change of the catalogue; `confirmed` is called once it is durable.

        Raises: RequestError(KAFKA_STORAGE_ERROR; POLICY_VIOLATION if it cannot be audited, and must be, or
        without room for it, as CatalogueRoom.added_by); nothing has changed.
        """
        room = self._catalogue.room
        added_bytes = room.added_by(record)
        outcome = None if self.audit is None else self.audit.changing(record)
        try:
            version = self._log.append(encode_record(record))
        except (WalError, DiskError) as error:
            if outcome is not None:
                outcome("failed")
            raise storage_error(error) from error
        self._meta.last_version = version
        self._changed = version + 1
        change = self._catalogue.plan(record)
        if outcome is not None:
            change = Change(
                _both(change.confirm, partial(outcome, "ok")), _both(change.undo, partial(outcome, "failed"))
            )
        if confirmed is not None:
            change = Change(_both(change.confirm, confirmed), change.undo)
        self._planned.append((version, change, record))
        if added_bytes:
            room.planned_bytes += added_bytes
            self._added[version] = added_bytes
        self._meta.wait_durable(version, self, now_ms)

    def appended(self, _vnode: Vnode, error: ErrorCode | None, now_ms: int) -> None:
        """Confirm the oldest planned change, which is on the disk; or undo all of them, which are lost."""
        planned = self._planned
        if error is not None:
            while planned:
                planned.pop()[1].undo()
            self._catalogue.room.planned_bytes -= sum(self._added.values())
            self._added.clear()
            self._changed = self._meta.log.next_version
            self.resume()
            return
        version, change, record = planned.popleft()
        assert version < self._meta.log.next_version, "each change is told of when it is durable"
        change.confirm()
        self._catalogue.room.planned_bytes -= self._added.pop(version, 0)
        self._confirmed(record, now_ms)

    def _confirmed(self, record: CatalogueRecord, now_ms: int) -> None:
        """Tell of a change that counts from now on."""
        self.changes.confirmed(record, self._clock.wall_ms(now_ms))
        for listener in self._listeners:
            with self._errors.net(ErrorPlace.BACKGROUND, f"{type(record).__name__} was not passed on"):
                listener(record, now_ms)
        self.resume()

    def resume(self) -> None:
        """Resume what waits for a change."""
        waiting, self._waiting = self._waiting, {}
        for resume in waiting.values():
            resume()

    def when_durable(self, done: Callable[[ErrorCode | None], None], now_ms: int) -> None:
        """Call `done(error)` when every change made so far is on the disk."""
        self._meta.wait_durable(self._meta.last_version, RecordedWaiter(self.changes, done), now_ms)


def _both(first: Callable[[], object], second: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        first()
        second()

    return run
