"""UpdateFeatures: v0-2.

Behaviour: changes the level of share.version (broker/config/features.py), answered when that is durable; the
other features have one level each.  Asking for the level that a feature has succeeds and changes nothing; any
other answers INVALID_UPDATE_VERSION, and one refusal refuses all.
Differences from Apache Kafka: fewer features.
Version notes: v1 upgrade type and dry run (KIP-778); v2 no results of single features (KIP-1022).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker.catalogue.catalogue_records import FeatureLevel
from broker.config.features import FEATURES, level_of
from broker.errors import RequestError
from broker.loop.call import PARKED, Call, Parked
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


def handle(broker: Broker, call: Call[UpdateFeaturesRequest]) -> UpdateFeaturesResponse | Parked:
    """Check all updates, then record those that change something."""
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
    response = UpdateFeaturesResponse(results=results if call.version <= RESULTS_UNTIL else [])
    if call.request.validate_only:
        return response
    return _recorded(broker, call, updates, response)


def _recorded(
    broker: Broker,
    call: Call[UpdateFeaturesRequest],
    updates: list[FeatureUpdateKey],
    response: UpdateFeaturesResponse,
) -> UpdateFeaturesResponse | Parked:
    """Record the levels that change; answer when they are durable."""
    levels, now_ms = broker.catalogue.feature_levels, call.received_ms
    try:
        for update in updates:
            if update.max_version_level != level_of(update.feature, levels):
                record = FeatureLevel(name=update.feature, level=update.max_version_level)
                broker.metadata_log.append(record, now_ms)
    except RequestError as error:
        return UpdateFeaturesResponse(error_code=error.code)
    broker.metadata_log.when_durable(
        lambda error: call.reply(response if error is None else UpdateFeaturesResponse(error_code=error)),
        now_ms,
    )
    return PARKED


def _problem(broker: Broker, version: int, update: FeatureUpdateKey) -> str | None:
    """Return the reason why the update is refused, in Kafka's words; None if it may be made."""
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
    if not feature.least <= level <= feature.level:
        return f"Local controller {node_id} only supports versions {feature.least}-{feature.level}"
    present = level_of(feature.name, broker.catalogue.feature_levels)
    is_downgrade = update.upgrade_type != UPGRADE if version > 0 else update.allow_downgrade
    if level < present and not is_downgrade:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or"
            " unsafe downgrade."
        )
    if level > present and is_downgrade:
        return "Can't downgrade to a newer version."
    return None
