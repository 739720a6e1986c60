"""The bytes of a finding, sent again: on as many connections, in their order."""

from __future__ import annotations

import contextlib
import socket
import tempfile
import time
from pathlib import Path

from compat_tests.broker import HOST, answers_api_versions
from compat_tests.hunt.link import entries
from compat_tests.kawal_broker import KawalBroker

QUIET_SECONDS = 2.0


def replay(path: Path, port: int) -> int:
    """Send the bytes to a running server, or to one of its own; return exit code 1 for an end or a fault."""
    if port:
        return _send(path, port)
    with tempfile.TemporaryDirectory(prefix="kawal-replay-") as directory:
        broker = KawalBroker(Path(directory), {"kawal.http.listen": "none"})
        broker.start()
        try:
            code = _send(path, broker.port)
            time.sleep(QUIET_SECONDS)
            output = broker.process.output()
            print(output)
            ended = broker.process.exit_code is not None
            return 1 if ended or "internal error" in output else code
        finally:
            broker.kill()


def _send(path: Path, port: int) -> int:
    clients: dict[int, socket.socket] = {}
    count = 0
    for _, number, data in entries(path):
        if number == 0:
            continue  # sent to the HTTP port
        if number not in clients:
            clients[number] = socket.create_connection((HOST, port), timeout=10)
        with contextlib.suppress(OSError):
            clients[number].sendall(data)
            clients[number].settimeout(0.01)
            while clients[number].recv(1 << 20):
                continue
        clients[number].settimeout(10)
        count += 1
    print(f"{count} pieces sent on {len(clients)} connections")
    return 0 if answers_api_versions(port) else 1
