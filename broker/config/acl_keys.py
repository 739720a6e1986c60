"""The keys of authorization; a part of the table in server_keys.py, with Kafka's names and meanings."""

from __future__ import annotations

from typing import Final, Protocol

from broker.config.config_keys import ConfigType, Key
from protocol.principals import principals_problem

STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
"""Kafka's class whose decisions ours are."""

OF_AUTHORIZER: Final = frozenset({"super.users", "allow.everyone.if.no.acl.found"})
"""Keys that Kafka's authorizer reads: Kafka's own listing does not have them."""

# fmt: off
ACL_KEYS: tuple[Key, ...] = (
    Key("authorizer.class.name", ConfigType.STRING, "",
        f"`{STANDARD_AUTHORIZER}`: clients may do what access rules allow (`kawal acls`), and nothing else; "
        "empty: they may do everything.",
        choices=("", STANDARD_AUTHORIZER)),
    Key("super.users", ConfigType.STRING, "",
        "Clients that may do everything whatever the rules say, `User:admin;User:CN=ops,O=acme`: with "
        "semicolons between them.",
        check=principals_problem),
    Key("allow.everyone.if.no.acl.found", ConfigType.BOOLEAN, False,
        "Allow every client everything with a resource that no rule names."),
)
# fmt: on


class AccessKeys(Protocol):
    """The configuration, as far as it is about access rules."""

    @property
    def authorizer_class_name(self) -> str:
        """The class that decides, "" if clients may do everything."""

    @property
    def set_by_operator(self) -> frozenset[str]:
        """The keys that files, environment or arguments have set."""


def unenforced(config: AccessKeys) -> str:
    """Return what an operator who has set keys of an authorizer may believe wrongly; "" if nothing."""
    keys = sorted(OF_AUTHORIZER & config.set_by_operator)
    if config.authorizer_class_name or not keys:
        return ""
    return (
        f"{' and '.join(keys)} without authorizer.class.name: no rule counts, and clients may do everything"
    )
