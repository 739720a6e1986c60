"""The commands' own client: sends Kafka requests over a socket like any client, but meets no faults."""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import trio

from broker.server.testing.faulty import OWN_CLIENT_ID
from broker.server.testing.ram import HOST
from protocol.headers import decode_response_header, encode_request_header
from protocol.messages import response_type
from protocol.schema import declaration
from protocol.wire import decode, encode

ANSWER_SECONDS_MAX: Final = 10

_SIZE: Final = struct.Struct(">i")


class NoAnswer(Exception):
    """The broker did not answer in time, or closed the connection."""


class OwnClient:
    """One connection; one request at a time."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream
        self._correlation_id = 0

    async def call(self, request: Any, version: int) -> Any:
        """Send a request and return the answer.  Raises: NoAnswer."""
        self._correlation_id += 1
        key = declaration(type(request)).api
        assert key is not None
        header = encode_request_header(
            api_key=key, api_version=version, correlation_id=self._correlation_id, client_id=OWN_CLIENT_ID
        )
        body = b"".join(encode(request, version))  # type: ignore[arg-type]  # requests hold no file ranges
        await self._stream.send_all(_SIZE.pack(len(header) + len(body)) + header + body)
        (size,) = _SIZE.unpack(await self._receive(_SIZE.size))
        frame = memoryview(await self._receive(size))
        _, position = decode_response_header(key, version, frame)
        return decode(response_type(key), version, frame, position)[0]

    async def _receive(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            part = await self._stream.receive_some(size - len(data))
            if not part:
                raise NoAnswer("the broker closed the connection; see its log")
            data += part
        return bytes(data)


@asynccontextmanager
async def own_client(port: int) -> AsyncIterator[OwnClient]:
    """Open a connection for one command.  Raises: NoAnswer."""
    try:
        with trio.fail_after(ANSWER_SECONDS_MAX):
            async with await trio.open_tcp_stream(HOST, port) as stream:
                yield OwnClient(stream)
    except trio.TooSlowError as error:
        raise NoAnswer(
            f"the broker did not answer for {ANSWER_SECONDS_MAX} s; is it paused, or its clock stopped?"
        ) from error
    except (OSError, trio.BrokenResourceError) as error:
        raise NoAnswer(f"the connection to the broker ended: {error}") from error
