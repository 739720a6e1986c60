"""The keys of quotas and of limits on new connections; a part of the table in server_keys.py.

Source: Kafka 4.3's QuotaConfig, SocketServerConfigs.
"""

from __future__ import annotations

from typing import Final

from broker.config.config_keys import ConfigType, Key, Value

INT: Final = ConfigType.INT
INT_MAX: Final = 2**31 - 1


def per_ip_overrides(text: str) -> dict[str, int]:
    """Return the limits of single addresses from a text of HOST:COUNT pairs with commas between them.

    Raises: ValueError.
    """
    found: dict[str, int] = {}
    for pair in filter(None, map(str.strip, text.split(","))):
        host, colon, count = pair.rpartition(":")
        if not colon or not host.strip():
            raise ValueError(f"{pair!r} is not HOST:COUNT")
        number = count.strip()
        if not number.isascii() or not number.isdigit() or int(number) > INT_MAX:
            raise ValueError(f"the count of {pair!r} is not a whole number from 0 to {INT_MAX}")
        found[host.strip().strip("[]")] = int(number)
    return found


def overrides_problem(value: Value) -> str | None:
    """Return what is wrong with limits of single addresses, None if nothing is."""
    try:
        per_ip_overrides(str(value))
    except ValueError as error:
        return f"{error}; give pairs such as 10.0.0.1:200,10.0.0.2:5"
    return None


# fmt: off
QUOTA_KEYS: tuple[Key, ...] = (
    Key("quota.window.num", INT, 11, "Windows of time over which the use of clients with quotas is averaged.",
        minimum=1, maximum=1000, unit="windows"),
    Key("quota.window.size.seconds", INT, 1, "Length of such a window.",
        minimum=1, maximum=3600, unit="s"),
    Key("controller.quota.window.num", INT, 11,
        "Windows' worth of changes of topics that a client with controller_mutation_rate may make at once.",
        minimum=1, maximum=1000, unit="windows"),
    Key("controller.quota.window.size.seconds", INT, 1, "Length of such a window.",
        minimum=1, maximum=3600, unit="s"),
    Key("max.connection.creation.rate", INT, INT_MAX,
        "New connections a second, on average over the windows of quotas; above it, clients wait to be "
        "accepted.", minimum=1, unit="connections", dynamic=True),
    Key("max.connections.per.ip.overrides", ConfigType.STRING, "",
        "Connections open at once from single addresses, ADDRESS:COUNT pairs with commas between them, "
        "instead of max.connections.per.ip.", dynamic=True, check=overrides_problem),
)
# fmt: on
