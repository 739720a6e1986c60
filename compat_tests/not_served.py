"""The APIs that Apache Kafka 4.3.1 advertises and the gateway does not, each with its reason."""

from __future__ import annotations

from typing import Final

from protocol.api_keys import ApiKey

SHARE: Final = "between brokers only: one node keeps the state of share groups without requests"
STREAMS: Final = "groups of the Streams protocol (KIP-1071) are not built; Kafka Streams uses classic groups"
QUORUM: Final = "there is one node, and no quorum of controllers to change"

NOT_SERVED: Final[dict[ApiKey, str]] = {
    ApiKey.UNREGISTER_BROKER: "there is one node, and it stays",
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: SHARE,
    ApiKey.READ_SHARE_GROUP_STATE: SHARE,
    ApiKey.WRITE_SHARE_GROUP_STATE: SHARE,
    ApiKey.DELETE_SHARE_GROUP_STATE: SHARE,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: SHARE,
    ApiKey.STREAMS_GROUP_HEARTBEAT: STREAMS,
    ApiKey.STREAMS_GROUP_DESCRIBE: STREAMS,
    ApiKey.ADD_RAFT_VOTER: QUORUM,
    ApiKey.REMOVE_RAFT_VOTER: QUORUM,
}
