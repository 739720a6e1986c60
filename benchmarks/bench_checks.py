"""The cost of opening produced batches: `python -m benchmarks.bench_checks`.

One connection keeps 16 Produce requests in flight, each with one batch, to topics that differ in what is
looked at: the head only (the default), every record (kawal.check.records=open), the headers of
kawal.dedup=seqno, and the same batches sent once more, all of which are repetitions. Records have 100 bytes,
and the headers in all topics, so that all take the same bytes. Given are records per second and the server's
processor time per record.
"""

from __future__ import annotations

import argparse
import struct
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.clients import wire
from benchmarks.proc import cpu_seconds
from benchmarks.servers import Server, new_server
from protocol.compression import Codec
from protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from protocol.wire import encode, joined

CREATE_TOPICS_KEY, CREATE_TOPICS_VERSION = 19, 4

IN_FLIGHT: Final = 16

TOPICS: Final[dict[str, dict[str, str]]] = {
    "head": {},
    "open": {"kawal.check.records": "open"},
    "seqno": {"kawal.dedup": "seqno"},
}

SHAPES: Final = ((1, Codec.NONE), (16, Codec.NONE), (150, Codec.NONE), (150, Codec.LZ4), (1_000, Codec.ZSTD))
"""Records in a batch, and its codec; beyond 200 records a thread opens it."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--records", type=int, default=150_000, help="records sent to each topic")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        server = new_server("kawal", Path(directory) / "kawal")
        server.start()
        try:
            for count, codec in SHAPES:
                _measure(server, count, codec, max(IN_FLIGHT, min(arguments.records // count, 20_000)))
        finally:
            server.kill()


def _measure(server: Server, count: int, codec: Codec, batches: int) -> None:
    print(f"\n{count} records a batch, {codec.name.lower()}, {batches} batches")
    connection = wire.Connection("127.0.0.1", server.port)
    made = [_batch(number, count, codec) for number in range(batches)]
    for name, configs in TOPICS.items():
        topic = f"{name}-{count}-{codec.name.lower()}"
        _create(connection, topic, configs)
        requests = [wire.produce_request(topic, [0], data, acks=-1) for data in made]
        _report(name, _timed(server, connection, requests), count * batches)
    _report("seqno again", _timed(server, connection, requests), count * batches)
    connection.close()


def _batch(number: int, count: int, codec: Codec) -> bytes:
    now_ms = time.time_ns() // 1_000_000
    first = number * count
    records = [
        Record(place, now_ms, None, b"%0100d" % (first + place), _headers(first + place))
        for place in range(count)
    ]
    return bytes(encode_batch(records, codec=codec))


def _headers(seqno: int) -> tuple[tuple[str, bytes], ...]:
    return (("kawal-producer-id", b"benchmark"), ("kawal-seqno", struct.pack(">q", seqno)))


def _create(connection: wire.Connection, topic: str, configs: dict[str, str]) -> None:
    wanted = CreatableTopic(
        name=topic,
        num_partitions=1,
        replication_factor=1,
        assignments=[],
        configs=[CreatableTopicConfig(name=name, value=value) for name, value in configs.items()],
    )
    body = joined(encode(CreateTopicsRequest(topics=[wanted]), CREATE_TOPICS_VERSION))
    connection.call(wire.request(CREATE_TOPICS_KEY, CREATE_TOPICS_VERSION, body))
    probe = wire.produce_request(topic, [0], _batch(0, 1, Codec.NONE), acks=-1)
    connection.produce_until_accepted(probe, within_seconds=10)


def _timed(server: Server, connection: wire.Connection, requests: Sequence[bytes]) -> tuple[float, float]:
    """Send the requests and return the seconds taken, and those of the server's processor."""
    waiting: deque[int] = deque()
    used, started = cpu_seconds(server.pid), time.monotonic()
    for request in requests:
        if len(waiting) == IN_FLIGHT:
            _accepted(connection)
            waiting.popleft()
        connection.socket.sendall(request)
        waiting.append(0)
    for _ in waiting:
        _accepted(connection)
    return time.monotonic() - started, cpu_seconds(server.pid) - used


def _accepted(connection: wire.Connection) -> None:
    if code := wire.produce_error(connection.receive()):
        raise wire.BrokerError("producing", code)


def _report(name: str, times: tuple[float, float], records: int) -> None:
    seconds, processor = times
    print(f"  {name:<12}{records / seconds:>12,.0f} records/s{processor / records * 1e6:>9.2f} µs/record")


if __name__ == "__main__":
    main()
