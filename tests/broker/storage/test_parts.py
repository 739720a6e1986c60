"""Parts of a log as bytes: what lies in files is read by a thread."""

from __future__ import annotations

from broker.loop.slices import Until, at_once
from broker.storage.parts import joined, joined_in_thread
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, send
from wal.reader import Part
from wal.segment import FileRange


def stored(*sizes: int) -> tuple[Gateway, list[Part], bytes]:
    """Return what a broker that was just started reads of a partition, and the bytes that were sent."""
    gateway = Gateway(kawal_vnodes=1)
    create(gateway.client(), "t")
    sent = [batch(bytes([number]) * size) for number, size in enumerate(sizes)]
    for data in sent:
        send(gateway.client(), "t", data)
    gateway.restart()
    return gateway, gateway.partition("t").read(0, 1 << 20).parts, b"".join(sent)


def test_what_lies_in_files_is_read_by_a_thread() -> None:
    _, parts, _ = stored(100_000, 100_000)
    assert any(isinstance(part, FileRange) for part in parts)
    waiting: list[object] = []
    steps = joined_in_thread(parts, lambda work, done: waiting.append((work, done)))
    pause = next(steps)
    assert isinstance(pause, Until)
    pause.start(lambda: None)
    assert len(waiting) == 1


def test_what_is_in_memory_needs_no_thread() -> None:
    def no_thread(*_: object) -> None:
        raise AssertionError("nothing is to be read")

    assert not [*joined_in_thread([b"a", memoryview(b"bc")], no_thread)]
    assert joined([b"a", memoryview(b"bc")]) == b"abc"


def test_both_ways_give_the_same_bytes() -> None:
    gateway, parts, _ = stored(100_000, 10, 70_000)
    steps = joined_in_thread(parts, gateway.broker.scheduler.offload)
    pause = next(steps)
    pause.start(lambda: None)
    assert at_once_after(steps) == joined(parts)


def at_once_after(steps: object) -> bytes:
    found: bytes = at_once(steps)  # type: ignore[arg-type]
    return found
