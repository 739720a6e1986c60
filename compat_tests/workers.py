"""A gateway of several workers: its processes, and how it looks to clients that know one of them only."""

from __future__ import annotations

import os
import signal
from copy import copy
from pathlib import Path

from confluent_kafka.admin import AdminClient

from compat_tests.broker import answers_api_versions
from compat_tests.groups import admin_of
from compat_tests.kawal_broker import KawalBroker
from compat_tests.waiting import eventually


class WorkersBroker(KawalBroker):
    """`kawal serve --workers N`, with two write-ahead logs for each worker if `settings` do not differ."""

    def __init__(self, directory: Path, workers: int, **settings: str) -> None:
        super().__init__(directory, {"kawal.vnodes": str(2 * workers), **settings})
        self.workers = workers
        # An admin client ends with its last reference, and what it was asked for with it.
        self._admins: dict[int, AdminClient] = {}

    @property
    def ids(self) -> list[int]:
        """The node ids of all workers."""
        return list(range(1, self.workers + 1))

    def at(self, number: int) -> WorkersBroker:
        """Return the gateway as clients see it that are told of this worker alone."""
        seen = copy(self)
        seen.port += number
        seen._ports = {name: port + number for name, port in self._ports.items()}
        return seen

    def each(self) -> list[WorkersBroker]:
        """Return it as seen at each worker."""
        return [self.at(number) for number in range(self.workers)]

    def admin(self) -> AdminClient:
        """Return an admin client that was told of the worker as which this is seen."""
        if self.port not in self._admins:
            self._admins[self.port] = admin_of(self)
        return self._admins[self.port]

    def children(self) -> list[int]:
        """Return the process ids of the workers, in the order of their start."""
        pid = self.process.pid
        return [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def kill_worker(self, pid: int, number: int) -> None:
        """End a worker's process with SIGKILL, and wait until it has been started again and answers."""
        os.kill(pid, signal.SIGKILL)
        ended = f"worker {number} (process {pid}) ended with SIGKILL"
        eventually(lambda: ended in self.process.output(), waiting_for=ended)
        eventually(lambda: answers_api_versions(self.port + number), waiting_for=f"worker {number}")
