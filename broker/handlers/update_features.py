"""UpdateFeatures: v0-2.

Behaviour: the features of broker/config/features.py are finalized at their only level.  Asking for that level
succeeds and changes nothing; any other answers INVALID_UPDATE_VERSION, and one refusal refuses all.
Differences from Apache Kafka: fewer features, each with a single level.
Version notes: v1 upgrade type and dry run (KIP-778); v2 no results of single features (KIP-1022).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker.config.features import FEATURES
from broker.loop.call import Call
from protocol.error_codes import ErrorCode, cut_message
from protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

if TYPE_CHECKING:
    from broker.core import Broker

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
RESULTS_UNTIL: Final = 1


def handle(broker: Broker, call: Call[UpdateFeaturesRequest]) -> UpdateFeaturesResponse:
    """Accept updates to the present level."""
    updates = call.request.feature_updates
    for update in updates:
        problem = _problem(broker, call.version, update)
        if problem:
            return UpdateFeaturesResponse(
                error_code=ErrorCode.INVALID_UPDATE_VERSION,
                error_message=cut_message(
                    "The update failed for all features since the following feature had an error:"
                    f" Invalid update version {update.max_version_level} for feature {update.feature}."
                    f" {problem}"
                ),
            )
    results = [UpdatableFeatureResult(feature=update.feature, error_message="NONE") for update in updates]
    return UpdateFeaturesResponse(results=results if call.version <= RESULTS_UNTIL else [])


def _problem(broker: Broker, version: int, update: FeatureUpdateKey) -> str | None:
    """Return the reason why the update is refused, in Kafka's words; None if it changes nothing."""
    level, node_id = update.max_version_level, broker.config.node_id
    feature = FEATURES.get(update.feature)
    if version > 0 and update.upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        return "The controller does not support the given upgrade type."
    if level < 0:
        return "A feature version cannot be less than 0."
    if feature is None:
        if level == 0:
            return f"Feature {update.feature} not found."
        return f"Local controller {node_id} does not support this feature."
    if level != feature.level:
        return f"Local controller {node_id} only supports versions {feature.level}-{feature.level}"
    return None
