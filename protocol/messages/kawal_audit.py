"""KawalAudit (30012): events of a node's audit log, for the node that leads their topic."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import Bytes, Int16, message, wire


@message(api=ApiKey.KAWAL_AUDIT, versions="0", flexible="0+")
class KawalAuditRequest:
    """A batch of events, with a producer id and a sequence number by which it is known when it comes again.

    Source: Kawal's own.
    """

    records: bytes = wire(Bytes)


@message(api=ApiKey.KAWAL_AUDIT, versions="0", flexible="0+")
class KawalAuditResponse:
    """The outcome, once the batch is durable.

    Source: as for the request.
    """

    error_code: int = wire(Int16, default=0)
