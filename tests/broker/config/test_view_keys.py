"""The server's keys for the memory of views."""

from __future__ import annotations

from broker.config.server_keys import KEYS
from broker.config.view_keys import VIEW_KEYS


def test_the_keys_of_views_are_keys_of_the_server_and_change_while_it_runs() -> None:
    assert all(KEYS[key.name] is key and key.dynamic for key in VIEW_KEYS)
