"""A call to an object store in a thread: its errors are an outcome to act on, and no fault of ours."""

from __future__ import annotations

from collections.abc import Callable

from broker.loop.slices import Offload
from wal.errors import WalError
from wal.objects import ObjectStoreError


def submit_call(
    submit: Offload, call: Callable[[], object], done: Callable[[Exception | None], None]
) -> None:
    """Make the call in a thread, then `done(error)` on the loop."""
    kept: list[Exception] = []

    def run() -> None:
        try:
            call()
        except (ObjectStoreError, OSError, WalError) as error:
            kept.append(error)

    submit(run, lambda error: done(error or next(iter(kept), None)))
