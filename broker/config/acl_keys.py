"""The keys of authorization; a part of the table in server_keys.py, with Kafka's names and meanings."""

from __future__ import annotations

from typing import Final

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
