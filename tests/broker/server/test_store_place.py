"""From settings to the place of an object store."""

from __future__ import annotations

import pytest

from broker.config.config import config_of
from broker.server.store_place import place_of


def test_a_place_has_the_settings_and_the_credentials_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    place = place_of(
        config_of(
            {
                "kawal.remote.store": "s3://bucket/p",
                "kawal.remote.endpoint": "http://127.0.0.1:9000/",
                "kawal.remote.region": "eu-1",
            }
        )
    )
    assert (place.url, place.endpoint, place.region) == ("s3://bucket/p", "http://127.0.0.1:9000", "eu-1")
    assert place.credentials["AWS_ACCESS_KEY_ID"] == "key"
