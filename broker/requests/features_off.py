"""The answers to requests of share groups while share.version is 0, or on several nodes, which have none.

Source: Kafka 4.3's KafkaApis: each API has UNSUPPORTED_VERSION at its top or, for requests about several
groups, for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from broker.config.features import SHARE_GROUPS, SHARE_VERSION, level_of
from broker.loop.call import Call
from broker.requests.gate import Refused
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode

CODE: Final = ErrorCode.UNSUPPORTED_VERSION


def refusal(call: Call[Any], levels: Mapping[str, int]) -> Refused | None:
    """Return the verdict on a request whose feature is turned off; None if it is not."""
    return None if level_of(SHARE_VERSION, levels) >= SHARE_GROUPS else without_shares(call)


def without_shares(call: Call[Any]) -> Refused | None:
    """Return the verdict on a request of a node without share groups; None if it concerns none."""
    make = _ANSWERS.get(call.api_key)
    return None if make is None else Refused(lambda: make(call.request))


def _heartbeat(_: Any) -> object:
    from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatResponse

    return ShareGroupHeartbeatResponse(error_code=CODE, heartbeat_interval_ms=0, member_epoch=0)


def _describe(request: Any) -> object:
    from groups.share.describe import refused_group
    from protocol.messages.share_group_describe import ShareGroupDescribeResponse

    return ShareGroupDescribeResponse(
        groups=[refused_group(group_id, CODE, None) for group_id in request.group_ids]
    )


def _fetch(_: Any) -> object:
    from protocol.messages.share_fetch import ShareFetchResponse

    return ShareFetchResponse(error_code=CODE, acquisition_lock_timeout_ms=0, responses=[], node_endpoints=[])


def _acknowledge(_: Any) -> object:
    from protocol.messages.share_acknowledge import ShareAcknowledgeResponse

    return ShareAcknowledgeResponse(error_code=CODE, responses=[], node_endpoints=[])


def _describe_offsets(request: Any) -> object:
    from protocol.messages.describe_share_group_offsets import (
        DescribeShareGroupOffsetsResponse,
        DescribeShareGroupOffsetsResponseGroup,
    )

    return DescribeShareGroupOffsetsResponse(
        groups=[
            DescribeShareGroupOffsetsResponseGroup(group_id=group.group_id, topics=[], error_code=CODE)
            for group in request.groups
        ]
    )


def _alter_offsets(_: Any) -> object:
    from protocol.messages.alter_share_group_offsets import AlterShareGroupOffsetsResponse

    return AlterShareGroupOffsetsResponse(error_code=CODE, responses=[])


def _delete_offsets(_: Any) -> object:
    from protocol.messages.delete_share_group_offsets import DeleteShareGroupOffsetsResponse

    return DeleteShareGroupOffsetsResponse(error_code=CODE, responses=[])


_ANSWERS: Final[Mapping[int, Callable[[Any], object]]] = {
    ApiKey.SHARE_GROUP_HEARTBEAT: _heartbeat,
    ApiKey.SHARE_GROUP_DESCRIBE: _describe,
    ApiKey.SHARE_FETCH: _fetch,
    ApiKey.SHARE_ACKNOWLEDGE: _acknowledge,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: _describe_offsets,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: _alter_offsets,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: _delete_offsets,
}
"""What makes the answers, by API."""
