"""A pool of threads, of which exactly one wakes for each task.

`queue.SimpleQueue` with several readers wakes two: each reader that takes an item lets the next one look, in
vain, which costs two exchanges of the interpreter's lock. Here each thread has a queue of its own.

    a thread without work   is in `_idle`, and waits for its queue
    a task without thread   is in `_backlog`

There is never one of each for long: adding to either is followed by `_match`, on whatever thread.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

Task = Callable[[], Any]


class ThreadPool:
    """Threads that run tasks, in the order of their submission; a task must not raise."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._threads: list[threading.Thread] = []
        # None ends a thread. The operations used on these are atomic.
        self._idle: list[SimpleQueue[Task | None]] = []
        self._backlog: deque[Task | None] = deque()

    def __len__(self) -> int:
        return len(self._threads)

    def grow(self, count: int) -> None:
        """Start threads until there are at least `count`."""
        for number in range(len(self._threads), count):
            thread = threading.Thread(target=self._work, name=f"{self._name}-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def submit(self, task: Task) -> None:
        """Run the task in a thread that has nothing to do, or in the first that is done."""
        self._submit(task)

    def end(self) -> None:
        """Have the threads end once every task has run, and do not wait for that."""
        for _ in self._threads:
            self._submit(None)

    def stop(self, within_seconds: float | None = None) -> None:
        """End the threads once every task has run; wait for each no longer than that."""
        self.end()
        for thread in self._threads:
            thread.join(within_seconds)

    def _submit(self, task: Task | None) -> None:
        self._backlog.append(task)
        self._match()

    def _match(self) -> None:
        """Hand waiting tasks to idle threads."""
        while self._backlog and self._idle:
            try:
                inbox = self._idle.pop()
            except IndexError:
                return
            try:
                task = self._backlog.popleft()
            except IndexError:
                # Another thread was quicker. If a task came meanwhile, its submitter found no idle thread.
                self._idle.append(inbox)
                continue
            inbox.put(task)

    def _work(self) -> None:
        inbox: SimpleQueue[Task | None] = SimpleQueue()
        while True:
            self._idle.append(inbox)
            self._match()
            task = inbox.get()
            if task is None:
                return
            task()
            # What the task holds, such as a large answer, goes now and not with the next task.
            del task
