"""The logs of some topics at the moment when they were looked at: where their partitions begin and end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from pipeline.errors import SourceError
from pipeline.log_source.catalogue import Home
from pipeline.log_source.files import LogFiles, LogPlace
from wal.disk import DiskError
from wal.errors import OffsetOutOfRange, WalError
from wal.objects import ObjectStoreError
from wal.offline_log import OfflineLog


class Logs:
    """The logs of topics, each looked at once."""

    def __init__(self, files: LogFiles, topics: Iterable[str]) -> None:
        """Look.  Raises: SourceError."""
        self.files = files
        self._logs: dict[str, OfflineLog] = {}
        with told(files.name):
            self.homes = files.homes_of(topics)
            for home in (home for homes in self.homes.values() for home in homes):
                if home.directory not in self._logs:
                    self._logs[home.directory] = files.open_log(home)

    def of(self, home: Home) -> OfflineLog:
        """Return the log of a partition."""
        return self._logs[home.directory]

    def bounds(self, topic: str, partition: int) -> tuple[int, int]:
        """Return the first offset of a partition, and the end of what can be read."""
        home = self.homes[topic][partition]
        return self.of(home).bounds(home.stream_id)


def look_at(place: LogPlace, topics: Iterable[str]) -> Logs:
    """Look at the logs of a place.  Raises: SourceError."""
    with told(place.data or (place.store.place.url if place.store is not None else "")):
        files = place.opened()
    return Logs(files, topics)


@contextmanager
def told(subject: str) -> Iterator[None]:
    """Turn errors of logs, disks and stores into one sentence."""
    try:
        yield
    except OffsetOutOfRange as error:
        raise SourceError(
            f"{subject}: records were removed while they were looked for ({error}): begin later, or read "
            "again"
        ) from error
    except (WalError, DiskError, ObjectStoreError) as error:
        raise SourceError(f"{subject}: {error}") from error
