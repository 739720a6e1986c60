"""Loads on the HTTP port, whose clients may be anything that a browser can be made to send."""

from __future__ import annotations

import contextlib
import socket
import time

from compat_tests.broker import HOST
from compat_tests.hunt.pages import odd_page_request
from compat_tests.overload.load import Target, going, load, rounds

HALF = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
HALVES = 64

WRONG = (
    b"GET //[ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: text/plain;version=x\r\n\r\n",
    b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: application/openmetrics-text;version=x\r\n\r\n",
)


@load("http-half-sent")
def http_half_sent(target: Target) -> str:
    """64 clients send half a request for a page, and come again when they are closed."""
    going()
    crowd: list[socket.socket] = []
    opened = 0
    ends = time.monotonic() + target.seconds
    while time.monotonic() < ends:
        while len(crowd) < target.dose(HALVES):
            crowd.append(socket.create_connection((HOST, target.http_port), timeout=10))
            crowd[-1].sendall(HALF)
            crowd[-1].setblocking(False)
            opened += 1
        crowd = [client for client in crowd if _is_open(client)]
        time.sleep(0.02)
    return f"{opened} half requests"


def _is_open(client: socket.socket) -> bool:
    try:
        return client.recv(1000) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


@load("http-wrong")
def http_wrong(target: Target) -> str:
    """Targets that are no URL, Accept headers that cannot be understood, and other odd HTTP."""
    count = 0
    for number in rounds(target):
        for data in (*WRONG, odd_page_request(target.chance)):
            with (
                contextlib.suppress(OSError),
                socket.create_connection((HOST, target.http_port), timeout=5) as client,
            ):
                client.sendall(data)
                client.settimeout(1)
                client.recv(1 << 16)
            count += 1
        time.sleep(0.01 if number else 0)
    return f"{count} requests"
