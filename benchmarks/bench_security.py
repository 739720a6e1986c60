"""TLS and access rules beside Apache Kafka: `python -m benchmarks.bench_security [--quick] [--only tls]`.

    tls         records of 1 KB over TLS 1.3, to 1 and 100 partitions: MB/s, and the server's processor a GB
    handshakes  new TLS connections that ask ApiVersions and leave: a second, and the server's ms for each
    idle        resident memory of an idle TLS connection
    gate        what 10,000 rules cost of the processor for records of 1 KB: inside a process, where a bar
                judges it (gate_in_process.py), and on the wire (gate_cost.py)

The servers take turns in rounds; figures are medians, ratios are taken of them. Kafka does not sync before it
answers, Kawal does. Exit code 1: a bar is not met.
"""

from __future__ import annotations

import shutil
import socket
import ssl
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from confluent_kafka import Consumer, Producer, TopicPartition

from benchmarks import proc
from benchmarks.environment import REPOSITORY
from benchmarks.gate_cost import on_the_wire
from benchmarks.gate_in_process import added_in_process
from benchmarks.rounds import Figures, in_rounds, options_of
from benchmarks.servers import Server, ServerKind, new_server
from compat_tests.broker import API_VERSIONS_REQUEST, HOST
from compat_tests.certificates import Certificates, make_certificates
from compat_tests.topics import create_topic

WORKING_DIRECTORY: Final = REPOSITORY / ".cache" / "benchmarks"
VALUE: Final = bytes(range(256)) * 4

RATIO_MAX: Final = 1.03
"""The processor time with 10,000 rules that is allowed by that without an authorizer."""


def tls_settings(kind: ServerKind, certificates: Certificates) -> dict[str, str]:
    """Return the settings of a second listener with TLS 1.3."""
    names = "PLAINTEXT:PLAINTEXT,SSL:SSL" + ("" if kind == "kawal" else ",CONTROLLER:PLAINTEXT")
    return {
        "extra.listeners": "SSL",
        "listener.security.protocol.map": names,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.server),
        "ssl.enabled.protocols": "TLSv1.3",
    }


def client_settings(server: Server, certificates: Certificates) -> dict[str, str]:
    """Return what a client needs for the listener with TLS."""
    return {
        "bootstrap.servers": server.bootstrap_of("SSL"),
        "security.protocol": "SSL",
        "ssl.ca.location": str(certificates.authority),
    }


def write(settings: Mapping[str, str], topic: str, partitions: int, count: int) -> float:
    """Produce records; return MB/s."""
    failed: list[Any] = []
    producer = Producer({**settings, "linger.ms": 5, "queue.buffering.max.messages": 200_000})
    began = time.perf_counter()
    for number in range(count):
        while True:
            try:
                producer.produce(topic, VALUE, partition=number % partitions, on_delivery=_collecting(failed))
                break
            except BufferError:
                producer.poll(0.05)
        if not number % 100:
            producer.poll(0)
    assert producer.flush(120) == 0
    assert failed == [], failed[:1]
    return count * len(VALUE) / 1e6 / (time.perf_counter() - began)


def _collecting(failed: list[Any]) -> Callable[[Any, Any], None]:
    return lambda error, _message: failed.append(error) if error else None


def read(settings: Mapping[str, str], topic: str, partitions: int, count: int) -> float:
    """Consume records from the beginning; return MB/s."""
    consumer = Consumer({**settings, "group.id": "bench", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
    began, found, ends = time.perf_counter(), 0, time.monotonic() + 120
    while found < count:
        assert time.monotonic() < ends, f"{found} of {count} records"
        for message in consumer.consume(10_000, timeout=1):
            assert message.error() is None, message.error()
            found += 1
    took = time.perf_counter() - began
    consumer.close()
    return count * len(VALUE) / 1e6 / took


def streams(server: Server, settings: Mapping[str, str], words: str, quick: bool) -> Figures:
    """Measure producing and consuming."""
    count = 10_000 if quick else 150_000
    found: Figures = {}
    for partitions in (1, 100):
        topic = create_topic(server, f"{words.replace(' ', '-')}-{partitions}", partitions)
        write(settings, topic, partitions, 1_000)
        for verb, work in (("produce", write), ("consume", read)):
            before = proc.cpu_seconds(server.pid)
            rate = work(settings, topic, partitions, count)
            spent = (proc.cpu_seconds(server.pid) - before) / (count * len(VALUE) / 1e9)
            found[f"{words} {verb}, {partitions} partitions, MB/s"] = rate
            found[f"{words} {verb}, {partitions} partitions, s of processor a GB"] = spent
    return found


def tls(server: Server, certificates: Certificates, quick: bool) -> Figures:
    """Measure streams over TLS, and over a listener without it."""
    plain = streams(server, {"bootstrap.servers": server.bootstrap}, "plain", quick)
    return plain | streams(server, client_settings(server, certificates), "TLS", quick)


def connected(server: Server, certificates: Certificates) -> ssl.SSLSocket:
    """Connect, shake hands, and have ApiVersions answered."""
    context = ssl.create_default_context(cafile=str(certificates.authority))
    port = int(server.bootstrap_of("SSL").rpartition(":")[2])
    plain = socket.create_connection((HOST, port), timeout=30)
    # As all clients do: else the request waits for the acknowledgement of the handshake.
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    made = context.wrap_socket(plain, server_hostname="localhost")
    made.sendall(API_VERSIONS_REQUEST)
    assert len(made.recv(4)) == 4
    return made


def handshakes(server: Server, certificates: Certificates, quick: bool) -> Figures:
    """Measure new connections."""
    for _ in range(100):
        connected(server, certificates).close()
    before, count = proc.cpu_seconds(server.pid), 0
    began = time.perf_counter()
    while time.perf_counter() - began < (1 if quick else 5):
        connected(server, certificates).close()
        count += 1
    took = time.perf_counter() - began
    spent = proc.cpu_seconds(server.pid) - before
    return {
        "handshakes a second, one client": count / took,
        "server's ms of processor, handshake": 1e3 * spent / count,
    }


def idle(server: Server, certificates: Certificates, quick: bool) -> Figures:
    """Measure the memory of connections that say nothing more."""
    count = 50 if quick else 1_000
    held = [connected(server, certificates) for _ in range(10)]
    before = proc.memory(server.pid).resident_bytes
    held += [connected(server, certificates) for _ in range(count)]
    after = proc.memory(server.pid).resident_bytes
    for each in held:
        each.close()
    return {"idle TLS connection, KB": (after - before) / count / 1e3}


PARTS: Final[dict[str, Callable[[Server, Certificates, bool], Figures]]] = {
    "tls": tls,
    "handshakes": handshakes,
    "idle": idle,
}


def measure(kind: ServerKind, part: str, quick: bool) -> Figures:
    """Start a server on an empty directory, measure one part, and remove it."""
    WORKING_DIRECTORY.mkdir(parents=True, exist_ok=True)
    directory = Path(tempfile.mkdtemp(prefix="security-", dir=WORKING_DIRECTORY))
    try:
        certificates = make_certificates(directory / "certificates")
        if part == "gate":
            inside = added_in_process(quick) if kind == "kawal" else {}
            return inside | on_the_wire(kind, directory, quick)
        server = new_server(kind, directory / kind, tls_settings(kind, certificates))
        try:
            server.start()
            return PARTS[part](server, certificates, quick)
        finally:
            server.kill()
    finally:
        shutil.rmtree(directory)


def main(words: Sequence[str] | None = None) -> int:
    """Measure what the arguments say; return 1 if a bar is not met."""
    options = options_of(
        "benchmarks.bench_security", __doc__, words, parts=[*PARTS, "gate"], servers=["kafka", "kawal"]
    )
    found = in_rounds(options, measure)
    return 0 if report(found, options.servers) else 1


def report(found: dict[str, dict[str, list[float]]], servers: Sequence[str]) -> bool:
    """Print medians and ratios to Kafka; return whether the bars are met."""
    all_met = True
    print(f"{'':72}" + "".join(f"{kind:>14}" for kind in servers))
    for name, by_server in found.items():
        figures = {kind: median(values) for kind, values in by_server.items()}
        line = f"{name:72}" + "".join(
            f"{figures[kind]:14.3f}" if kind in figures else f"{'-':>14}" for kind in servers
        )
        if {"kafka", "kawal"} <= figures.keys():
            line += f"   {figures['kawal'] / figures['kafka']:6.2f}x"
        if name.endswith("rules by none") and "kawal" in figures:
            met = figures["kawal"] <= RATIO_MAX
            all_met &= met
            line += f" (at most {RATIO_MAX}: {'met' if met else 'NOT MET'})"
        print(line, flush=True)
    return all_met


if __name__ == "__main__":
    sys.exit(main())
