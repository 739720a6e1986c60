"""UpdateFeatures (57): change the finalized features of a cluster."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Int8, Int16, Int32, String, message, struct, wire


@struct
class FeatureUpdateKey:
    """A feature and its new level."""

    feature: str = wire(String)
    max_version_level: int = wire(Int16)
    allow_downgrade: bool = wire(Bool, "0", default=False)
    upgrade_type: int = wire(Int8, "1+", default=1)  # 1: upgrade, 2: safe downgrade, 3: unsafe downgrade


@message(api=ApiKey.UPDATE_FEATURES, versions="0-2", flexible="0+")
class UpdateFeaturesRequest:
    """A request to raise or lower feature levels.

    Source: KIP-584, KIP-778 (v1 upgrade type, dry run), KIP-1022 (v2).
    """

    timeout_ms: int = wire(Int32, default=60000)
    feature_updates: list[FeatureUpdateKey] = wire(ArrayOf(FeatureUpdateKey))
    validate_only: bool = wire(Bool, "1+", default=False)


@struct
class UpdatableFeatureResult:
    """The outcome for one feature."""

    feature: str = wire(String)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)


@message(api=ApiKey.UPDATE_FEATURES, versions="0-2", flexible="0+")
class UpdateFeaturesResponse:
    """The outcome; up to v1, for each feature.

    Source: as for the request.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    results: list[UpdatableFeatureResult] = wire(
        ArrayOf(UpdatableFeatureResult), "0-1", default=[], ignorable=True
    )
