"""The bounds of group settings, which the server's own values for every group must respect, too.

Source: Kafka 4.3's GroupCoordinatorConfig and GroupConfig, which refuse the same with the same keys.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, Protocol

from broker.config.config_keys import ConfigError

INTERVAL_NAMES: Final = ("kawal_rebalance_interval_ms", "group_consumer_assignment_interval_ms")
"""Two names of one setting, ours and Kafka's; ours wins when both are set."""

BOUNDED: Final = ("session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms")
"""The settings of consumer groups with bounds: `group.consumer.min.` and `group.consumer.max.` + name."""


SHARE_BOUNDED: Final = (
    "session.timeout.ms",
    "heartbeat.interval.ms",
    "assignment.interval.ms",
    "delivery.count.limit",
    "record.lock.duration.ms",
    "partition.max.record.locks",
)
"""The same of share groups: `group.share.min.` and `group.share.max.` + name."""


class Values(Protocol):
    """The configuration, by the names of its keys."""

    @property
    def set_by_operator(self) -> Collection[str]:
        """The keys that are set, rather than left at their defaults."""

    def value(self, name: str) -> Any:
        """Return the value in effect."""


def assignment_interval_ms(values: Mapping[str, Any]) -> int | None:
    """Return the interval set under either name, None when neither is."""
    return next((values[name] for name in INTERVAL_NAMES if name in values), None)


def check_group_limits(config: Values) -> None:
    """Refuse bounds that no value meets, or that the server's own values do not.  Raises: ConfigError."""
    _check_order(config, "group.min.session.timeout.ms", "group.max.session.timeout.ms")
    for kind, bounded in (("consumer", BOUNDED), ("share", SHARE_BOUNDED)):
        for name in bounded:
            least, largest = f"group.{kind}.min.{name}", f"group.{kind}.max.{name}"
            _check_order(config, least, largest)
            _check_order(config, least, f"group.{kind}.{name}")
            _check_order(config, f"group.{kind}.{name}", largest)
        interval, session = f"group.{kind}.heartbeat.interval.ms", f"group.{kind}.session.timeout.ms"
        if _number(config, interval) >= _number(config, session):
            raise ConfigError(session, str(_number(config, session)), f"must be greater than {interval}")


def clamped(config: Values, name: str, value: int) -> int:
    """Return a group's value of `name` within the present bounds; it may have been set under others."""
    if name not in BOUNDED:
        return value
    least = _number(config, f"group.consumer.min.{name}")
    return min(max(value, least), _number(config, f"group.consumer.max.{name}"))


def _check_order(config: Values, lower: str, upper: str) -> None:
    if _number(config, lower) <= _number(config, upper):
        return
    # The error names the key that was set; of two, the value rather than its bound.
    named = upper if upper in config.set_by_operator and ".max." not in upper else lower
    named = named if named in config.set_by_operator else upper
    least = f"is at odds with {lower} = {_number(config, lower)}, which must not be greater"
    largest = f"is at odds with {upper} = {_number(config, upper)}, which must not be less"
    raise ConfigError(named, str(_number(config, named)), least if named == upper else largest)


def _number(config: Values, name: str) -> int:
    found = config.value(name)
    assert isinstance(found, int), name
    return found
