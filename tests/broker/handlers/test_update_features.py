"""UpdateFeatures: features stay at the level they have."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.broker.gateway import Client, Gateway


@pytest.fixture(scope="module")
def client() -> Client:
    return Gateway().client()


def update(client: Client, *updates: tuple[str, int, int], version: int = 1) -> Any:
    keys = []
    for name, level, kind in updates:
        key = FeatureUpdateKey(feature=name, max_version_level=level)
        if version > 0:
            key.upgrade_type = kind
        keys.append(key)
    return client.call(UpdateFeaturesRequest(timeout_ms=1000, feature_updates=keys), version)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_asking_for_what_holds_succeeds(client: Client, version: int) -> None:
    answer = update(client, ("metadata.version", 30, 1), version=version)
    assert (answer.error_code, answer.error_message) == (0, None)
    told = [(result.feature, result.error_code) for result in answer.results]
    assert told == ([("metadata.version", 0)] if version < 2 else [])


@pytest.mark.parametrize(
    ("name", "level", "kind", "message"),
    [
        ("metadata.version", 29, 1, "only supports versions 30-30"),
        ("metadata.version", 31, 1, "only supports versions 30-30"),
        ("metadata.version", 7, 3, "only supports versions 30-30"),
        ("metadata.version", 0, 2, "only supports versions 30-30"),
        ("metadata.version", -1, 1, "cannot be less than 0"),
        ("metadata.version", 30, 0, "does not support the given upgrade type"),
        ("metadata.version", 30, 9, "does not support the given upgrade type"),
        ("no.such", 1, 1, "Local controller 1 does not support this feature."),
        ("no.such", 0, 2, "Feature no.such not found."),
        ("", 1, 1, "for feature . Local controller 1 does not support this feature."),
    ],
)
def test_any_other_level_is_refused_with_all_updates(
    client: Client, name: str, level: int, kind: int, message: str
) -> None:
    answer = update(client, ("metadata.version", 30, 1), (name, level, kind))
    assert (answer.error_code, answer.results) == (95, [])
    assert message in answer.error_message
    assert f"Invalid update version {level} for feature {name}" in answer.error_message


def test_no_update_is_no_error(client: Client) -> None:
    assert update(client).error_code == 0
