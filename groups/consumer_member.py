"""A member of a consumer group: what it wants and what it has, as in its two records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from groups.assignment import NO_EPOCHS, EpochAssignment
from groups.states import MemberState

JOINING_EPOCH = 0
"""In a request: the member joins, or joins again after it was fenced."""
LEAVING_EPOCH = -1
"""In a request: the member leaves."""
AWAY_EPOCH = -2
"""In a request: the static member leaves for a while. In a record: it has done so."""


class ClassicMetadata(NamedTuple):
    """The stored data of a member that speaks the classic protocol."""

    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    """Name and subscription blob, in the order of its JoinGroup request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberMetadata:
    """The identity of a member, and what it wants."""

    client_id: str
    client_host: str
    instance_id: str | None = None
    rack_id: str | None = None
    topics: tuple[str, ...] = ()
    """Topics subscribed to by name, sorted."""
    regex: str = ""
    """Topics subscribed to by pattern; "": none."""
    rebalance_timeout_ms: int = -1
    assignor: str | None = None
    """The server-side assignor it prefers."""
    classic: ClassicMetadata | None = None
    """None: the member speaks the consumer protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberAssignment:
    """The partitions of a member, and how far it has followed the group."""

    epoch: int = JOINING_EPOCH
    previous_epoch: int = JOINING_EPOCH
    state: MemberState = MemberState.STABLE
    assigned: EpochAssignment = field(default_factory=lambda: NO_EPOCHS)
    revoking: EpochAssignment = field(default_factory=lambda: NO_EPOCHS)
    """Partitions it must give up before it may move on; no other member gets them until then."""


NEW_MEMBER = MemberAssignment()
"""The assignment of a member before its first answer."""
