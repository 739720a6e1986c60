"""Error codes that one node without security does not answer, or not at will, each with the reason."""

from __future__ import annotations

from typing import Final

from protocol.error_codes import ErrorCode

ONE_NODE: Final = "there is one node: it leads every partition, holds the only replica and cannot lag behind"
OF_BROKERS: Final = "an answer between brokers and controllers; clients do not call those APIs"
SECURITY: Final = "nothing is forbidden"
TRANSACTIONS: Final = "transactional ids are refused (InitProducerId: 35), so that no transaction begins"
TELEMETRY: Final = "clients' metrics are not collected; the APIs are not served"
SHARE: Final = "the state of share groups is changed inside the node, which has one writer of it"
SHARE_ROOM: Final = "the room for share sessions (group.share.max.share.sessions) takes 2,000 members to fill"
STREAMS: Final = "groups of the Streams protocol are not served"
OUT_OF_USE: Final = "Kafka itself no longer answers it"
AT_ONCE: Final = "what was asked for is done before the answer is sent"

NEVER: Final[dict[ErrorCode, str]] = {
    ErrorCode.UNKNOWN_SERVER_ERROR: "a fault of the gateway, not of a request; it closes the connection",
    ErrorCode.INVALID_FETCH_SIZE: OUT_OF_USE,
    ErrorCode.LEADER_NOT_AVAILABLE: ONE_NODE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ONE_NODE,
    ErrorCode.REQUEST_TIMED_OUT: AT_ONCE,
    ErrorCode.BROKER_NOT_AVAILABLE: ONE_NODE,
    ErrorCode.REPLICA_NOT_AVAILABLE: ONE_NODE,
    ErrorCode.STALE_CONTROLLER_EPOCH: OF_BROKERS,
    ErrorCode.NETWORK_EXCEPTION: "made by clients themselves",
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: "for the moments after a start in which progress is read back;"
    " tests/groups/test_loading.py checks it",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "only while the log that holds groups' progress has failed,"
    " or the memory for offsets is full; tests/groups/test_coordinator.py and test_offset_room.py check it",
    ErrorCode.NOT_COORDINATOR: ONE_NODE,
    ErrorCode.NOT_ENOUGH_REPLICAS: "min.insync.replicas above the number of replicas counts as that number,"
    " in Kafka 4 too",
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ONE_NODE,
    ErrorCode.INVALID_COMMIT_OFFSET_SIZE: "the log of progress can hold any commit that a request can; Kafka"
    " itself answers UNKNOWN_SERVER_ERROR to one above its batch",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: SECURITY,
    ErrorCode.GROUP_AUTHORIZATION_FAILED: SECURITY,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: SECURITY,
    ErrorCode.NOT_CONTROLLER: ONE_NODE,
    ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT: OUT_OF_USE,
    ErrorCode.DUPLICATE_SEQUENCE_NUMBER: "a duplicate within the last five batches is answered with its first"
    " offset, an older one with OUT_OF_ORDER_SEQUENCE_NUMBER, as in Kafka",
    ErrorCode.INVALID_TXN_STATE: TRANSACTIONS,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING: TRANSACTIONS,
    ErrorCode.INVALID_TRANSACTION_TIMEOUT: TRANSACTIONS,
    ErrorCode.CONCURRENT_TRANSACTIONS: TRANSACTIONS,
    ErrorCode.TRANSACTION_COORDINATOR_FENCED: TRANSACTIONS,
    ErrorCode.OPERATION_NOT_ATTEMPTED: TRANSACTIONS,
    ErrorCode.SASL_AUTHENTICATION_FAILED: "listeners without logins take none;"
    " compat_tests/test_raw_sasl.py checks it",
    ErrorCode.UNKNOWN_PRODUCER_ID: OUT_OF_USE,
    ErrorCode.REASSIGNMENT_IN_PROGRESS: AT_ONCE,
    ErrorCode.LISTENER_NOT_FOUND: ONE_NODE,
    ErrorCode.STALE_BROKER_EPOCH: OF_BROKERS,
    ErrorCode.OFFSET_NOT_AVAILABLE: ONE_NODE,
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: ONE_NODE,
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: ONE_NODE,
    ErrorCode.UNSTABLE_OFFSET_COMMIT: TRANSACTIONS,
    ErrorCode.PRODUCER_FENCED: TRANSACTIONS,
    ErrorCode.INCONSISTENT_VOTER_SET: OF_BROKERS,
    ErrorCode.FEATURE_UPDATE_FAILED: OUT_OF_USE,
    ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE: OF_BROKERS,
    ErrorCode.SNAPSHOT_NOT_FOUND: OF_BROKERS,
    ErrorCode.POSITION_OUT_OF_RANGE: OF_BROKERS,
    ErrorCode.DUPLICATE_BROKER_REGISTRATION: OF_BROKERS,
    ErrorCode.BROKER_ID_NOT_REGISTERED: OF_BROKERS,
    ErrorCode.INCONSISTENT_TOPIC_ID: "a topic created again while a session by id looks at it has another id:"
    " both answer UNKNOWN_TOPIC_ID",
    ErrorCode.INCONSISTENT_CLUSTER_ID: OF_BROKERS,
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: TRANSACTIONS,
    ErrorCode.INELIGIBLE_REPLICA: OF_BROKERS,
    ErrorCode.NEW_LEADER_ELECTED: OF_BROKERS,
    ErrorCode.OFFSET_MOVED_TO_TIERED_STORAGE: "there is no tiered storage",
    ErrorCode.UNKNOWN_CONTROLLER_ID: OF_BROKERS,
    ErrorCode.UNKNOWN_SUBSCRIPTION_ID: TELEMETRY,
    ErrorCode.TELEMETRY_TOO_LARGE: TELEMETRY,
    ErrorCode.INVALID_REGISTRATION: OF_BROKERS,
    ErrorCode.TRANSACTION_ABORTABLE: TRANSACTIONS,
    ErrorCode.FENCED_STATE_EPOCH: SHARE,
    ErrorCode.INVALID_VOTER_KEY: OF_BROKERS,
    ErrorCode.DUPLICATE_VOTER: OF_BROKERS,
    ErrorCode.VOTER_NOT_FOUND: OF_BROKERS,
    ErrorCode.REBOOTSTRAP_REQUIRED: "for proxies that point to other clusters",
    ErrorCode.STREAMS_INVALID_TOPOLOGY: STREAMS,
    ErrorCode.STREAMS_INVALID_TOPOLOGY_EPOCH: STREAMS,
    ErrorCode.STREAMS_TOPOLOGY_FENCED: STREAMS,
    ErrorCode.SHARE_SESSION_LIMIT_REACHED: SHARE_ROOM,
}
