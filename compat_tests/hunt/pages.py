"""HTTP as programs send it that are broken, or hostile."""

from __future__ import annotations

from random import Random

TARGETS = (
    b"/metrics",
    b"/healthz",
    b"/readyz",
    b"/",
    b"//[",
    b"//[::1",
    b"http://[/metrics",
    b"*",
    b"/%",
    b"/%00",
    b"?",
    b"/metrics?" + b"a=b&" * 1_000,
    b"/" + b"x" * 15_000,
    b"/metrics#x",
    b"\xff",
    b"/../../etc/passwd",
    b"//x@[/",
    b"http://localhost/metrics",
    b"localhost:80",
    b"/metrics;x",
    b"/\xc3\xbc",
)

HEADERS = (
    b"Accept: text/plain;version=x",
    b"Accept: application/openmetrics-text;version=9.9.9",
    b"Accept: ;;;==,,",
    b"Accept: application/openmetrics-text; version=1.0.0; escaping=nonsense",
    b"Accept: " + b"a/b," * 3_000,
    b"Content-Length: 5",
    b"Content-Length: -1",
    b"Content-Length: 99999999999999999999",
    b"Content-Length: 70000",
    b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: gzip",
    b"Expect: 100-continue",
    b"Upgrade: websocket",
    b"Connection: Upgrade, HTTP2-Settings",
    b"Host: [",
    b"Host: evil.example",
    b"Host: [::1]:9",
    b"Host:",
    b"Host: localhost:999999999",
    b"Host: a]b",
    b"Accept-Encoding: gzip;q=x",
    b"X: " + b"y" * 10_000,
    b"X\0: y",
    b": no name",
    b"Range: bytes=-1",
    b"Accept: \xff\xfe",
    b" folded",
)

METHODS = (
    b"GET",
    b"GET",
    b"GET",
    b"HEAD",
    b"POST",
    b"PUT",
    b"DELETE",
    b"CONNECT",
    b"OPTIONS",
    b"get",
    b"",
    b"PRI",
)

VERSIONS = (b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0", b"HTTP/9", b"", b"http/1.1")

BODIES = (b"", b"", b"hello", b"5\r\nhello\r\n0\r\n\r\n", b"FFFFFFFFFFFFFFFF\r\nx", b"-1\r\n", b"x" * 70_000)


def odd_page_request(chance: Random) -> bytes:
    """Return the bytes of a request, or of several, whole or not."""
    many = chance.choice((1, 1, 1, 2, 50))
    data = b"".join(_request(chance) for _ in range(many))
    if chance.random() < 0.2:
        return data[: chance.randrange(len(data))]
    if chance.random() < 0.05:
        return chance.randbytes(chance.choice((1, 100, 20_000)))
    return data


def _request(chance: Random) -> bytes:
    line = b" ".join((chance.choice(METHODS), chance.choice(TARGETS), chance.choice(VERSIONS)))
    headers = [b"Host: localhost"] if chance.random() < 0.8 else []
    headers += [chance.choice(HEADERS) for _ in range(chance.choice((0, 1, 1, 2, 200)))]
    chance.shuffle(headers)
    return b"\r\n".join([line, *headers, b"", b""]) + chance.choice(BODIES)
