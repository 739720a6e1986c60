"""The catalogue of a node that is not the controller: it takes what the controller has made durable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from broker.catalogue.catalogue_records import CatalogueRecord
from broker.catalogue.metadata_log import MetadataLog
from broker.catalogue.nodes import Nodes
from broker.errors import RequestError
from protocol.error_codes import ErrorCode


def log_kind(nodes: Nodes) -> type[MetadataLog]:
    """Return the kind of log that this node has."""
    return MetadataLog if nodes.is_controller else FollowedLog


class FollowedLog(MetadataLog):
    """A log of which another node is the writer: nothing is planned, and each record counts at once.

    A change that starts here is refused; the code that carries out one of the controller's, and appends the
    record as the controller does, runs inside `taking`.
    """

    _taken: CatalogueRecord | None = None

    version = -1
    """All records of the controller's below this version are known here."""

    _awaited: tuple[tuple[int, Callable[[], None]], ...] = ()

    @property
    def known_version(self) -> int:
        """The version below which every record of the controller's counts here."""
        return self.version

    def reached(self, version: int) -> None:
        """Note that all records below a version are known, and resume what waits for that."""
        self.version = version
        due = [resume for wanted, resume in self._awaited if wanted <= version]
        self._awaited = tuple(item for item in self._awaited if item[0] > version)
        for resume in due:
            resume()

    def when_reached(self, version: int, resume: Callable[[], None]) -> None:
        """Call `resume()` once all records below a version are known: now, if they are."""
        if version <= self.version:
            resume()
        else:
            self._awaited += ((version, resume),)

    @contextmanager
    def taking(self, record: CatalogueRecord) -> Iterator[None]:
        """Let this record of the controller's be appended once."""
        self._taken = record
        try:
            yield
        finally:
            self._taken = None

    def append(
        self, record: CatalogueRecord, now_ms: int, *, confirmed: Callable[[], None] | None = None
    ) -> None:
        """Apply the record that is being taken.

        Others that follow from it are left out: the controller sends them, too.
        Raises: RequestError(NOT_CONTROLLER), outside `taking`.
        """
        if self._taken is None:
            raise RequestError(ErrorCode.NOT_CONTROLLER, "another node changes the catalogue")
        if type(record) is not type(self._taken):
            return
        change = self._catalogue.plan(self._taken)
        change.confirm()
        if confirmed is not None:
            confirmed()
        self._confirmed(self._taken, now_ms)

    def when_durable(self, done: Callable[[ErrorCode | None], None], now_ms: int) -> None:
        """Call `done(None)` when what is known of changes is in the logs of their database."""
        self.changes.when_durable(lambda: done(None), now_ms)
