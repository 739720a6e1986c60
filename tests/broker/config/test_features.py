"""Features are announced at exactly the level that runs."""

from __future__ import annotations

from broker.config.features import FEATURES
from protocol.messages.api_versions import ApiVersionsRequest
from tests.broker.gateway import Gateway


def test_features_are_supported_and_finalized_at_one_level() -> None:
    client = Gateway().client()
    answer = client.call(ApiVersionsRequest(client_software_name="x", client_software_version="1"), 4)
    supported = {
        feature.name: (feature.min_version, feature.max_version) for feature in answer.supported_features
    }
    finalized = {
        feature.name: (feature.min_version_level, feature.max_version_level)
        for feature in answer.finalized_features
    }
    expected = {name: (feature.level, feature.level) for name, feature in FEATURES.items()}
    assert (supported, finalized) == (expected, expected)
    assert FEATURES["metadata.version"].level == 30
    assert answer.finalized_features_epoch > 0


def test_levels_begin_above_zero_so_that_old_java_clients_can_read_them() -> None:
    assert all(feature.level > 0 for feature in FEATURES.values())
