"""Features are announced with the levels that they can have, and the one that runs."""

from __future__ import annotations

from typing import Any

from broker.config.features import FEATURES, SHARE_VERSION, level_of
from protocol.messages.api_versions import ApiVersionsRequest
from tests.broker.gateway import Gateway


def versions(version: int) -> Any:
    request = ApiVersionsRequest(client_software_name="x", client_software_version="1")
    return Gateway().client().call(request, version)


def test_features_are_supported_up_to_the_level_that_is_finalized() -> None:
    answer = versions(4)
    supported = {
        feature.name: (feature.min_version, feature.max_version) for feature in answer.supported_features
    }
    finalized = {
        feature.name: (feature.min_version_level, feature.max_version_level)
        for feature in answer.finalized_features
    }
    assert supported == {name: (feature.least, feature.level) for name, feature in FEATURES.items()}
    assert finalized == {name: (feature.level, feature.level) for name, feature in FEATURES.items()}
    assert (supported["metadata.version"], supported[SHARE_VERSION]) == ((30, 30), (0, 2))
    assert answer.finalized_features_epoch > 0


def test_old_java_clients_are_not_told_of_features_whose_levels_begin_at_zero() -> None:
    answer = versions(3)
    assert SHARE_VERSION not in {feature.name for feature in answer.supported_features}
    assert all(feature.min_version > 0 for feature in answer.supported_features)
    assert SHARE_VERSION in {feature.name for feature in answer.finalized_features}


def test_a_level_is_the_largest_unless_another_was_set() -> None:
    assert [level_of(SHARE_VERSION, levels) for levels in ({}, {SHARE_VERSION: 0})] == [2, 0]
