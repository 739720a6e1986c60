"""Refused clients in the log: one line in a second, and the number of the others."""

import pytest

from broker.loop.refused_clients import INTERVAL_NS, SHOWN_MAX, RefusedClients


def test_a_crowd_of_refused_clients_has_a_line_in_a_second(caplog: pytest.LogCaptureFixture) -> None:
    refused = RefusedClients()
    for number in range(1000):
        refused.note("10.0.0.1", "no certificate", number)
    refused.note("10.0.0.2", "x" * 1000, INTERVAL_NS)
    assert caplog.messages == [
        "refused a client from 10.0.0.1: no certificate",
        f"refused a client from 10.0.0.2: {'x' * SHOWN_MAX}… (and 999 more since the last line)",
    ]
