"""UpdateFeatures: the level of share.version changes, the others stay at the one they have."""

from __future__ import annotations

from typing import Any

import pytest

from broker.catalogue.catalogue_records import FeatureLevel
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.broker.gateway import Client, Gateway
from wal.memory_faults import Fault


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
        ("share.version", 3, 1, "only supports versions 0-2"),
        ("share.version", 1, 1, "Can't downgrade the version of this feature without"),
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


def levels(gateway: Gateway) -> dict[str, int]:
    request = ApiVersionsRequest(client_software_name="x", client_software_version="1")
    answer = gateway.client().call(request, 4)
    return {feature.name: feature.max_version_level for feature in answer.finalized_features}


def listed(gateway: Gateway) -> set[int]:
    request = ApiVersionsRequest(client_software_name="x", client_software_version="1")
    return {api.api_key for api in gateway.client().call(request, 4).api_keys}


@pytest.mark.parametrize("ends", ["restart", "crash"])
def test_a_level_that_was_answered_survives(ends: str) -> None:
    gateway = Gateway()
    assert update(gateway.client(), ("share.version", 1, 2)).error_code == 0
    getattr(gateway, ends)()
    assert levels(gateway)["share.version"] == 1
    assert update(gateway.client(), ("share.version", 2, 2)).error_code == 95, "not a downgrade"
    assert update(gateway.client(), ("share.version", 2, 1)).error_code == 0
    assert levels(gateway)["share.version"] == 2


def test_a_level_is_in_the_catalogues_snapshot() -> None:
    gateway = Gateway()
    update(gateway.client(), ("share.version", 1, 3))
    assert FeatureLevel(name="share.version", level=1) in gateway.broker.catalogue.snapshot()


def test_a_dry_run_changes_nothing() -> None:
    gateway = Gateway()
    key = FeatureUpdateKey(feature="share.version", max_version_level=0, upgrade_type=2)
    request = UpdateFeaturesRequest(timeout_ms=1000, feature_updates=[key], validate_only=True)
    assert gateway.client().call(request, 1).error_code == 0
    assert levels(gateway)["share.version"] == 2


def test_a_level_that_cannot_be_stored_is_taken_back() -> None:
    gateway = Gateway()
    gateway.disk.faults.append(lambda call: Fault(5) if call.kind == "sync" else None)
    assert update(gateway.client(), ("share.version", 0, 2)).error_code == 56
    gateway.disk.faults.clear()
    assert gateway.broker.catalogue.feature_levels == {}


def test_version_0_says_whether_levels_may_fall() -> None:
    gateway = Gateway()
    assert update(gateway.client(), ("share.version", 1, 0), version=0).error_code == 95
    key = FeatureUpdateKey(feature="share.version", max_version_level=1, allow_downgrade=True)
    request = UpdateFeaturesRequest(timeout_ms=1000, feature_updates=[key])
    assert gateway.client().call(request, 0).error_code == 0
    assert levels(gateway)["share.version"] == 1


def test_at_level_0_the_apis_of_members_are_not_listed() -> None:
    gateway = Gateway()
    assert {76, 77, 78, 79} <= listed(gateway)
    update(gateway.client(), ("share.version", 0, 2))
    assert not {76, 77, 78, 79} & listed(gateway)
    assert "share.version" not in levels(gateway)
    update(gateway.client(), ("share.version", 1, 1))
    assert {76, 77, 78, 79} <= listed(gateway)
