"""FindCoordinator (10): the broker that coordinates a group or transactional id."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int8, Int16, Int32, String, message, struct, wire


@message(api=ApiKey.FIND_COORDINATOR, versions="0-6", flexible="3+", hot=True, elements_max=50_000)
class FindCoordinatorRequest:
    """A request for the coordinator of one key, or from v4 on of several.

    Source: KIP-98 (v1 key type), KIP-699 (v4 several keys), KIP-890 (v5), KIP-932 (v6 share groups).
    """

    key: str = wire(String, "0-3", default="")
    key_type: int = wire(Int8, "1+", default=0)  # 0: group, 1: transactional id, 2: share partition
    coordinator_keys: list[str] = wire(ArrayOf(String), "4+", default=[])


@struct
class Coordinator:
    """The coordinator of one key."""

    key: str = wire(String)
    node_id: int = wire(Int32)
    host: str = wire(String)
    port: int = wire(Int32)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)


@message(api=ApiKey.FIND_COORDINATOR, versions="0-6", flexible="3+", hot=True)
class FindCoordinatorResponse:
    """The coordinators, or why there is none.

    Source: as for the request.
    """

    throttle_time_ms: int = wire(Int32, "1+", default=0, ignorable=True)
    error_code: int = wire(Int16, "0-3", default=0)
    error_message: str | None = wire(String, "1-3", nullable="1-3", default=None, ignorable=True)
    node_id: int = wire(Int32, "0-3", default=0)
    host: str = wire(String, "0-3", default="")
    port: int = wire(Int32, "0-3", default=0)
    coordinators: list[Coordinator] = wire(ArrayOf(Coordinator), "4+", default=[])
