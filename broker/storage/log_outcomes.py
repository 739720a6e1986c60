"""The end of a log's job: readers wake, waiters are told, and a log with a fault stops."""

from __future__ import annotations

from collections.abc import Callable

from broker.loop.internal_errors import ErrorPlace
from broker.loop.loop import Loop
from broker.storage.vnode import Vnode
from wal.commit import Advanced
from wal.jobs import CommitJob


class LogOutcomes:
    """Tells what waits for logs."""

    def __init__(self, loop: Loop, advanced: Callable[[Vnode, list[Advanced], int], None]) -> None:
        """`advanced` is told of the streams of a vnode of which more can be read."""
        self._loop = loop
        self._advanced = advanced

    def apply(self, vnode: Vnode, done: Callable[[], list[Advanced]], now_ms: int) -> None:
        """Have a vnode take the result of a job, and tell all that waits for it."""
        try:
            streams = done()
        except Exception as fault:  # noqa: BLE001  (the net)
            vnode.quarantine(fault)
            self.crashed(vnode, fault, now_ms)
            return
        self._settle(vnode, now_ms)
        self._advanced(vnode, streams, now_ms)

    def stored(self, vnode: Vnode, job: CommitJob, now_ms: int) -> None:
        """Learn that the object store has a commit, which counts from now on."""
        self.apply(vnode, lambda: vnode.stored(job, now_ms), now_ms)

    def confirmed(self, vnode: Vnode, now_ms: int) -> None:
        """Learn that the object store has all that was in a log at the start."""
        self.apply(vnode, vnode.confirm, now_ms)

    def stop(self, vnode: Vnode, error: Exception, now_ms: int) -> None:
        """Have a log take nothing more until the next start, and refuse what waits for it."""
        vnode.quarantine(error)
        vnode.crashed(error)
        self._settle(vnode, now_ms)

    def crashed(self, vnode: Vnode, error: Exception, now_ms: int) -> None:
        """Stop a log after an error of our own, and refuse what waits for it."""
        text = f"vnode {vnode.name} takes no more records for now"
        self._loop.internal_errors.note(ErrorPlace.LOG, text, error)
        vnode.crashed(error)
        self._settle(vnode, now_ms)

    def _settle(self, vnode: Vnode, now_ms: int) -> None:
        """Tell those that wait for a log what is done; if they are many, the rest in later turns."""
        loop = self._loop
        if vnode.settle(loop.internal_errors, now_ms, loop.stats.clock_ns):
            loop.scheduler.first(lambda: self._settle(vnode, loop.clock.turn_ms))
