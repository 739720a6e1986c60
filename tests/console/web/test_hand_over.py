"""The line with which a gateway hands its socket over."""

from __future__ import annotations

import os

import msgspec
import pytest

from broker.config.config import config_of
from broker.config.endpoints import Endpoint
from broker.server.console_host import hand_over_of
from broker.server.listeners import Listener
from console.errors import CommandError
from console.web.hand_over import HandOver, read_hand_over


def read(data: bytes) -> HandOver:
    ours, theirs = os.pipe()
    try:
        os.write(theirs, data)
        os.close(theirs)
        return read_hand_over(ours)
    finally:
        os.close(ours)


def test_the_gateways_line_is_read() -> None:
    config = config_of({"kawal.console.read.only": True, "kawal.console.hosts": "Kafka.Example"})
    listener = Listener(None, Endpoint("0.0.0.0", 4711), None)  # type: ignore[arg-type]
    given = {**hand_over_of(config, [listener], None), "listening": 7}
    found = read(msgspec.json.encode(given) + b"\nmore")
    assert found == HandOver(7, "127.0.0.1:4711", read_only=True, hosts=("kafka.example",), level="info")


@pytest.mark.parametrize("data", [b"", b"\n", b"{}\n", b'{"listening":"x","bootstrap":""}\n', b"x" * 70_000])
def test_another_line_is_refused(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    if len(data) > 65536:
        monkeypatch.setattr("console.web.hand_over.LINE_BYTES_MAX", 100)
        data = data[:200]
    with pytest.raises(CommandError, match="hand-over cannot be read"):
        read(data)
