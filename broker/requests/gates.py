"""The gate, the authorizer and the tokens that the configuration asks for.

What they need is imported only then.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from broker.catalogue.metadata import Metadata
from broker.catalogue.topics import Catalogue
from broker.config.acl_keys import STANDARD_AUTHORIZER, unenforced
from broker.config.config import Config
from broker.loop.loop import Loop
from broker.requests.gate import OpenGate, WriteGate
from broker.requests.quota_gate import QuotaGate

if TYPE_CHECKING:
    from random import Random

    from broker.catalogue.delegation_tokens import DelegationTokens
    from broker.fetching.fetch_sessions import FetchSessions
    from broker.security.authorizer import Authorizer

logger = logging.getLogger("kawal.security")


def authorizer_of(config: Config, catalogue: Catalogue) -> Authorizer | None:
    """Return the authorizer, which follows the catalogue's rules; None: clients may do everything."""
    if not config.authorizer_class_name:
        if risk := unenforced(config):
            logger.warning("%s; set it to %s", risk, STANDARD_AUTHORIZER)
        return None
    from broker.security.authorizer import Authorizer, Policy
    from protocol.principals import split_principals

    super_users = frozenset(split_principals(config.super_users))
    authorizer = Authorizer(Policy(super_users, config.allow_everyone_if_no_acl_found))
    catalogue.acls.follow(authorizer)
    return authorizer


class Node(Metadata, Loop, Protocol):
    """The parts of the broker that its gates need."""

    authorizer: Authorizer | None
    fetch_sessions: FetchSessions


def gate_of(node: Node) -> WriteGate:
    """Return the gate that watches requests if they are audited, counts them, and enforces access rules."""
    rules = rules_gate(node.authorizer, node.catalogue)
    gate: WriteGate = QuotaGate(rules, node.catalogue.quotas, node, node.config)
    if node.config.audited:
        from broker.requests.audit_gate import AuditGate

        gate = AuditGate(gate)
    if node.nodes.count > 1:
        from broker.requests.peer_gate import PeerGate

        gate = PeerGate(gate, node)
    return gate


def rules_gate(authorizer: Authorizer | None, catalogue: Catalogue) -> WriteGate:
    """Return the gate that enforces the rules, or the one that lets everything pass."""
    if authorizer is not None:
        from broker.requests.acl_gate import AclGate

        return AclGate(authorizer, catalogue)
    return OpenGate()


def tokens_of(metadata: Metadata, loop: Loop, random: Random) -> DelegationTokens | None:
    """Return the delegation tokens; None: without a secret key there are none."""
    if not metadata.config.delegation_token_secret_key:
        return None
    from broker.catalogue.delegation_tokens import DelegationTokens

    return DelegationTokens(metadata, loop, random)
