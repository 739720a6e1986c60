"""The open gate lets every request pass."""

from __future__ import annotations

from typing import Any

from broker.requests.gate import OpenGate


def test_the_open_gate_lets_everything_pass() -> None:
    call: Any = object()
    OpenGate().admit(call, 5)
