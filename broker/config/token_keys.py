"""The keys of delegation tokens; a part of the table in server_keys.py, with Kafka's names and defaults.

Source: Kafka 4.3's DelegationTokenManagerConfigs.
"""

from __future__ import annotations

from broker.config.config_keys import ConfigType, Key

LONG, INT = ConfigType.LONG, ConfigType.INT

# fmt: off
TOKEN_KEYS: tuple[Key, ...] = (
    Key("delegation.token.secret.key", ConfigType.PASSWORD, None,
        "Secret from which the delegation tokens follow; none, or an empty one: there are no tokens.  After "
        "a change those that exist are useless."),
    Key("delegation.token.max.lifetime.ms", LONG, 604_800_000,
        "Time beyond which a delegation token cannot be renewed.", minimum=1, unit="ms"),
    Key("delegation.token.expiry.time.ms", LONG, 86_400_000,
        "Time after which a delegation token expires unless it is renewed.", minimum=1, unit="ms"),
    Key("delegation.token.expiry.check.interval.ms", LONG, 3_600_000,
        "How often delegation tokens that have expired are removed.", minimum=1, unit="ms"),
    Key("kawal.max.delegation.tokens", INT, 20_000, "Most delegation tokens of the server.",
        minimum=1, unit="tokens"),
    Key("kawal.max.delegation.tokens.per.user", INT, 2_000,
        "Most delegation tokens that one user may have asked for.", minimum=1, unit="tokens"),
)
# fmt: on
