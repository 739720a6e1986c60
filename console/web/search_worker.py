"""A process that searches: `python -m console.web.search_worker DESCRIPTOR`, started by the console.

A search takes a processor for seconds.  In the console's own process it would keep the interpreter from the
pages, for long on a machine where other programs want all processors.  Here it keeps it from nothing, so it
may run when no other thread of the machine wants to: with SCHED_IDLE of Linux the broker takes the processor
at once when it has something to do, whereas a high `nice` value would let a slice of some milliseconds end
first, and every record that is acknowledged would wait for it.

The process serves one job after the other, and ends with the console, or when there was none for a while.
"""

from __future__ import annotations

import logging
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Final

from console.errors import CommandError
from console.outgoing import under
from console.web import looking, past_lag, preview
from console.web.kafka_door import KafkaDoor, PageRules
from console.web.search_bounds import Bounds
from console.web.search_job import LEAVE, Job, Outcome, packed, unpacked

IDLE_SECONDS: Final = 30
"""A person who searches comes back sooner; later the process has to be started again, in half a second."""

LOADED: Final = (looking.look_for, preview.preview_of, past_lag.past_lag)
"""The usual jobs: what they import takes long, and is loaded before the process lets all others go first."""

logger = logging.getLogger("kawal.console")


class Worker:
    """Serves the jobs that come by a connection."""

    def __init__(self, connection: Connection, end: Callable[[], None], idle_seconds: float) -> None:
        """Make a worker; `end` is called, in a thread of its own, when there is nothing more to do."""
        self._connection = connection
        self._end = end
        self._idle_seconds = idle_seconds
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._at_work: Bounds | None = None

    def run(self) -> None:
        """Serve until the other side has closed the connection, or nothing comes from it any more."""
        threading.Thread(target=self._listen, name="listener", daemon=True).start()
        go_last()
        while (job := self._jobs.get()) is not None:
            answer = packed(outcome_of(job))
            self._at_work = None
            try:
                self._connection.send_bytes(answer)
            except OSError:
                return  # the console has ended

    def _listen(self) -> None:
        try:
            while self._connection.poll(self._idle_seconds) or self._at_work is not None:
                message = unpacked(self._connection.recv_bytes())
                if message == LEAVE:
                    if (bounds := self._at_work) is not None:
                        bounds.leave()
                else:
                    self._at_work = message.bounds
                    self._jobs.put(message)
        except (EOFError, OSError) as error:
            logger.debug("the console has ended: %s", error)
        self._jobs.put(None)
        self._end()


def outcome_of(job: Job) -> Outcome:
    """Do a job under the rules of its page."""
    way = job.way
    door = KafkaDoor(way.bootstrap, read_only=way.read_only, alone=way.alone)
    kafka = door.enter(way.security)
    rules = PageRules(kafka, door)
    try:
        job.bounds.begin()
        with under(rules):
            return Outcome(job.work(*job.args, job.bounds))
    except CommandError as error:
        return Outcome(error=error)
    except Exception:  # noqa: BLE001  (it is raised where the outcome is waited for)
        return Outcome(traceback=traceback.format_exc())
    finally:
        rules.end()
        kafka.close()


def go_last() -> None:
    """Let this thread run when nothing else wants the processor, where the system allows that.

    Linux may share the processors among sessions first (autogroups), whatever is idle in them: so this
    process stays in the session of the console, which is that of a gateway that has started it.
    """
    if not hasattr(os, "SCHED_IDLE"):
        return
    try:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    except OSError as error:
        # As under systemd with `SystemCallFilter=~@resources`.
        logger.debug("searches keep their priority: %s", error)


def main() -> None:
    """Serve on the connection whose descriptor is the first argument."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the console, and its end this process
    # At once, in the middle of a job, too: no one waits for its end.
    Worker(Connection(int(sys.argv[1])), lambda: os._exit(0), IDLE_SECONDS).run()


if __name__ == "__main__":
    main()
