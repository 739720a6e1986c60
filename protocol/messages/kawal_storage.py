"""KawalStorage (30013): the storage of a node's logs, for the node that tells of all of them."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Bytes, Int16, Int64, String, message, struct, wire


@struct
class KnownLog:
    """A log as it is known already."""

    name: str = wire(String)
    version: list[int] = wire(ArrayOf(Int64))


@struct
class LogState:
    """A log as it is now."""

    name: str = wire(String)
    version: list[int] = wire(ArrayOf(Int64))
    """Numbers that are others when its state has changed."""
    state: bytes = wire(Bytes)
    """A JSON object."""


@message(api=ApiKey.KAWAL_STORAGE, versions="0", flexible="0+", elements_max=200_000)
class KawalStorageRequest:
    """A request for the logs of a node that are not as they are known.

    Source: Kawal's own.
    """

    known: list[KnownLog] = wire(ArrayOf(KnownLog))


@message(api=ApiKey.KAWAL_STORAGE, versions="0", flexible="0+")
class KawalStorageResponse:
    """Some of these logs.

    Source: as for the request.
    """

    error_code: int = wire(Int16, default=0)
    has_more: bool = wire(Bool, default=False)
    catalogue_version: int = wire(Int64, default=-1)
    """The version of the catalogue up to which the node knew it."""
    logs: list[LogState] = wire(ArrayOf(LogState))
