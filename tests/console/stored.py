"""A data directory on the real disk, for the tests of `kawal wal`."""

from __future__ import annotations

from pathlib import Path

from tests.broker.gateway import Gateway
from tests.broker.kit import batch as kafka_batch
from tests.broker.kit import create, send
from tests.wal.logs import batch, commit
from tests.wal.stores import open_store
from wal.disk import OsDisk


def make_data(folder: Path) -> Path:
    """Make a data directory with one vnode: stream 7 with three records and one more, cleanly stopped."""
    data = folder / "data"
    store = open_store(OsDisk(), str(data))
    store.create_vnode("default", 0)
    log = store.open_vnode("default", 0, now_ms=1_000)
    for body, records in ((b"first", 3), (b"second", 1)):
        log.append(7, batch(records, body=body, timestamp=86_400_000))
        log.append_meta(7, b"note")
        commit(log, 1_000)
    log.close(1_000)
    store.close(0)
    return data


def make_broker_data(folder: Path) -> Path:
    """Make the data directory of a broker, cleanly stopped, with a topic of 400 KB in four segments."""
    gateway = Gateway(
        OsDisk(),  # type: ignore[arg-type]
        log_dirs=str(folder / "data"),
        kawal_segment_bytes=1 << 17,
        kawal_vnodes=1,
    )
    client = gateway.client()
    create(client, "t")
    for _ in range(8):
        send(client, "t", kafka_batch(b"x" * 50_000))
    gateway.broker.begin_stop(gateway.now_ms)
    gateway.settle()
    gateway.broker.close(gateway.now_ms)
    return folder / "data"


def segment_of(data: Path) -> Path:
    """Return the vnode's segment file."""
    return data / "default" / "vnode-0" / "00000000000000000000.wal"


def spoil(data: Path, what: bytes = b"first") -> None:
    """Change one byte of a stored batch, and let the next start read it."""
    path = segment_of(data)
    content = bytearray(path.read_bytes())
    content[content.index(what)] ^= 1
    path.write_bytes(content)
    for checkpoint in path.parent.glob("checkpoint*"):
        checkpoint.unlink()
