"""Every error code that a Kafka answer can carry."""

from __future__ import annotations

from enum import IntEnum

RETRY = True

MESSAGE_CHARS_MAX = 1_000
"""The longest sentence about an error.

A name of 32 KB, said again for each of 20,000 partitions, would make an answer of 640 MB, and a sentence with
such a name in it does not fit into a string of the protocol.
"""


def cut_message(text: str) -> str:
    """Return a sentence that every answer has room for, with an ellipsis if it had to be cut."""
    return text if len(text) <= MESSAGE_CHARS_MAX else f"{text[: MESSAGE_CHARS_MAX - 1]}…"


class ErrorCode(IntEnum):
    """Kafka 4.3's error codes: number, meaning, and whether a client may simply retry.

    Source: Kafka's Errors.java and https://kafka.apache.org/43/generated/protocol_errors.html.
    """

    text: str
    """Its meaning, in one line."""

    retriable: bool
    """Whether Java clients retry the request on their own."""

    def __new__(cls, number: int, text: str = "", retriable: bool = False) -> ErrorCode:
        """Make a member from its row."""
        member = int.__new__(cls, number)
        member._value_ = number
        member.text = text
        member.retriable = retriable
        return member

    UNKNOWN_SERVER_ERROR = -1, "an unexpected error on the server"
    NONE = 0, "no error"
    OFFSET_OUT_OF_RANGE = 1, "the offset is not within what the log holds"
    CORRUPT_MESSAGE = 2, "the batch fails its checksum or is otherwise corrupt", RETRY
    UNKNOWN_TOPIC_OR_PARTITION = 3, "there is no such topic or partition here", RETRY
    INVALID_FETCH_SIZE = 4, "the fetch size is invalid"
    LEADER_NOT_AVAILABLE = 5, "the partition has no leader just now", RETRY
    NOT_LEADER_OR_FOLLOWER = 6, "this broker does not lead, or does not hold, the partition", RETRY
    REQUEST_TIMED_OUT = 7, "the request timed out", RETRY
    BROKER_NOT_AVAILABLE = 8, "the broker is not available"
    REPLICA_NOT_AVAILABLE = 9, "the replica is not available", RETRY
    MESSAGE_TOO_LARGE = 10, "the batch is larger than the topic accepts"
    STALE_CONTROLLER_EPOCH = 11, "another controller has taken over"
    OFFSET_METADATA_TOO_LARGE = 12, "the metadata of a committed offset is too large"
    NETWORK_EXCEPTION = 13, "the connection was lost before the answer came", RETRY
    COORDINATOR_LOAD_IN_PROGRESS = 14, "the coordinator is still loading its state", RETRY
    COORDINATOR_NOT_AVAILABLE = 15, "there is no coordinator just now", RETRY
    NOT_COORDINATOR = 16, "another broker coordinates this key", RETRY
    INVALID_TOPIC_EXCEPTION = 17, "the topic name breaks the rules, or the topic may not be used so"
    RECORD_LIST_TOO_LARGE = 18, "the batch is larger than a segment"
    NOT_ENOUGH_REPLICAS = 19, "fewer replicas are in sync than required", RETRY
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, "the batch was written, but to fewer replicas than required", RETRY
    INVALID_REQUIRED_ACKS = 21, "acks must be -1, 0 or 1"
    ILLEGAL_GENERATION = 22, "the group has moved on to another generation"
    INCONSISTENT_GROUP_PROTOCOL = 23, "the member shares no protocol with the rest of the group"
    INVALID_GROUP_ID = 24, "the group id is invalid"
    UNKNOWN_MEMBER_ID = 25, "the group has no such member"
    INVALID_SESSION_TIMEOUT = 26, "the session timeout is outside the range that the broker allows"
    REBALANCE_IN_PROGRESS = 27, "the group is rebalancing, join again"
    INVALID_COMMIT_OFFSET_SIZE = 28, "the committed offsets do not fit into one batch"
    TOPIC_AUTHORIZATION_FAILED = 29, "not authorised for the topic"
    GROUP_AUTHORIZATION_FAILED = 30, "not authorised for the group"
    CLUSTER_AUTHORIZATION_FAILED = 31, "not authorised for the cluster"
    INVALID_TIMESTAMP = 32, "the timestamp of a record is out of the accepted range"
    UNSUPPORTED_SASL_MECHANISM = 33, "the broker does not offer this SASL mechanism"
    ILLEGAL_SASL_STATE = 34, "the request does not fit the state of the authentication"
    UNSUPPORTED_VERSION = 35, "the version of the request is not supported"
    TOPIC_ALREADY_EXISTS = 36, "a topic of this name exists"
    INVALID_PARTITIONS = 37, "the number of partitions is invalid"
    INVALID_REPLICATION_FACTOR = 38, "the replication factor is below 1 or above the number of brokers"
    INVALID_REPLICA_ASSIGNMENT = 39, "the assignment of replicas is invalid"
    INVALID_CONFIG = 40, "the configuration is invalid"
    NOT_CONTROLLER = 41, "this broker is not the controller", RETRY
    INVALID_REQUEST = 42, "the request contradicts itself or the protocol"
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, "the message format of the topic does not allow this"
    POLICY_VIOLATION = 44, "a policy of the cluster forbids this"
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, "a batch of this producer is missing before this one"
    DUPLICATE_SEQUENCE_NUMBER = 46, "the batch was appended before, too long ago to tell where"
    INVALID_PRODUCER_EPOCH = 47, "a newer producer has taken this id over"
    INVALID_TXN_STATE = 48, "the transaction is in a state that does not allow this"
    INVALID_PRODUCER_ID_MAPPING = 49, "the producer id does not belong to the transactional id"
    INVALID_TRANSACTION_TIMEOUT = 50, "the transaction timeout is above what the broker allows"
    CONCURRENT_TRANSACTIONS = 51, "another operation on this transaction is still going on", RETRY
    TRANSACTION_COORDINATOR_FENCED = 52, "another transaction coordinator has taken over"
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, "not authorised for the transactional id"
    SECURITY_DISABLED = 54, "there is no authoriser, so there are no access rules"
    OPERATION_NOT_ATTEMPTED = 55, "not attempted, because another part of the request failed"
    KAFKA_STORAGE_ERROR = 56, "the disk failed, so the log cannot be read or written", RETRY
    LOG_DIR_NOT_FOUND = 57, "the broker has no such log directory"
    SASL_AUTHENTICATION_FAILED = 58, "authentication failed"
    UNKNOWN_PRODUCER_ID = 59, "nothing is known of this producer id any more"
    REASSIGNMENT_IN_PROGRESS = 60, "the partition is being reassigned"
    DELEGATION_TOKEN_AUTH_DISABLED = 61, "delegation tokens are disabled"
    DELEGATION_TOKEN_NOT_FOUND = 62, "there is no such delegation token"
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, "the principal neither owns the token nor may renew it"
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64, "this channel may not ask for delegation tokens"
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, "not authorised for the delegation token"
    DELEGATION_TOKEN_EXPIRED = 66, "the delegation token has expired"
    INVALID_PRINCIPAL_TYPE = 67, "the type of the principal is not supported"
    NON_EMPTY_GROUP = 68, "the group still has members"
    GROUP_ID_NOT_FOUND = 69, "there is no such group"
    FETCH_SESSION_ID_NOT_FOUND = 70, "there is no such fetch session", RETRY
    INVALID_FETCH_SESSION_EPOCH = 71, "the epoch of the fetch session is not the expected one", RETRY
    LISTENER_NOT_FOUND = 72, "the leader has no listener like the one that was asked", RETRY
    TOPIC_DELETION_DISABLED = 73, "topics may not be deleted here"
    FENCED_LEADER_EPOCH = 74, "the leader epoch is older than the broker's", RETRY
    UNKNOWN_LEADER_EPOCH = 75, "the leader epoch is newer than the broker's", RETRY
    UNSUPPORTED_COMPRESSION_TYPE = 76, "the client's version cannot take this compression"
    STALE_BROKER_EPOCH = 77, "the broker epoch has changed"
    OFFSET_NOT_AVAILABLE = 78, "the new leader does not know its high watermark yet", RETRY
    MEMBER_ID_REQUIRED = 79, "join again with the member id in this answer"
    PREFERRED_LEADER_NOT_AVAILABLE = 80, "the preferred leader is not available", RETRY
    GROUP_MAX_SIZE_REACHED = 81, "the group is full"
    FENCED_INSTANCE_ID = 82, "another member has taken this group.instance.id over"
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, "no replica that may lead is available", RETRY
    ELECTION_NOT_NEEDED = 84, "the right replica leads already", RETRY
    NO_REASSIGNMENT_IN_PROGRESS = 85, "the partition is not being reassigned"
    GROUP_SUBSCRIBED_TO_TOPIC = 86, "the group is subscribed to this topic"
    INVALID_RECORD = 87, "a record of the batch breaks a rule of the topic or of the format"
    UNSTABLE_OFFSET_COMMIT = 88, "a transaction that commits offsets is not finished yet", RETRY
    THROTTLING_QUOTA_EXCEEDED = 89, "the quota is used up, try again later", RETRY
    PRODUCER_FENCED = 90, "a newer producer with this transactional id has fenced this one"
    RESOURCE_NOT_FOUND = 91, "there is no such resource"
    DUPLICATE_RESOURCE = 92, "the request names the same resource twice"
    UNACCEPTABLE_CREDENTIAL = 93, "the credential does not meet the rules"
    INCONSISTENT_VOTER_SET = 94, "the sender or the receiver is not a voter"
    INVALID_UPDATE_VERSION = 95, "the update version is invalid"
    FEATURE_UPDATE_FAILED = 96, "the finalized features could not be updated"
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, "the principal of a forwarded request cannot be read"
    SNAPSHOT_NOT_FOUND = 98, "there is no such snapshot"
    POSITION_OUT_OF_RANGE = 99, "the position is outside the snapshot"
    UNKNOWN_TOPIC_ID = 100, "there is no topic with this id here", RETRY
    DUPLICATE_BROKER_REGISTRATION = 101, "a broker with this id is registered and alive"
    BROKER_ID_NOT_REGISTERED = 102, "no broker with this id is registered"
    INCONSISTENT_TOPIC_ID = 103, "the topic has another id", RETRY
    INCONSISTENT_CLUSTER_ID = 104, "the cluster has another id"
    TRANSACTIONAL_ID_NOT_FOUND = 105, "there is no such transactional id"
    FETCH_SESSION_TOPIC_ID_ERROR = 106, "the fetch session and the request disagree on topic ids", RETRY
    INELIGIBLE_REPLICA = 107, "the replica may not join the in-sync set"
    NEW_LEADER_ELECTED = 108, "the change of the partition made another replica its leader"
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, "the offset is in remote storage only"
    FENCED_MEMBER_EPOCH = 110, "the group has fenced the epoch of this member, join again"
    UNRELEASED_INSTANCE_ID = 111, "another member still holds this instance id"
    UNSUPPORTED_ASSIGNOR = 112, "the group does not support this assignor"
    STALE_MEMBER_EPOCH = 113, "the member epoch is older than the group's, ask again with the new one"
    MISMATCHED_ENDPOINT_TYPE = 114, "the request went to an endpoint of the wrong type"
    UNSUPPORTED_ENDPOINT_TYPE = 115, "this type of endpoint is not supported"
    UNKNOWN_CONTROLLER_ID = 116, "there is no controller with this id"
    UNKNOWN_SUBSCRIPTION_ID = 117, "the telemetry subscription is unknown or outdated"
    TELEMETRY_TOO_LARGE = 118, "the telemetry is larger than the broker accepts"
    INVALID_REGISTRATION = 119, "the controller refuses this registration"
    TRANSACTION_ABORTABLE = 120, "the transaction must be aborted, the producer may go on"
    INVALID_RECORD_STATE = 121, "the record is not in a state that allows this acknowledgement"
    SHARE_SESSION_NOT_FOUND = 122, "there is no such share session", RETRY
    INVALID_SHARE_SESSION_EPOCH = 123, "the epoch of the share session is not the expected one", RETRY
    FENCED_STATE_EPOCH = 124, "the state epoch of the share partition is not the coordinator's"
    INVALID_VOTER_KEY = 125, "the voter's key is not that of the receiving replica"
    DUPLICATE_VOTER = 126, "the voter is in the set already"
    VOTER_NOT_FOUND = 127, "the voter is not in the set"
    INVALID_REGULAR_EXPRESSION = 128, "the regular expression is invalid"
    REBOOTSTRAP_REQUIRED = 129, "the client's metadata is stale, it must bootstrap again"
    STREAMS_INVALID_TOPOLOGY = 130, "the topology is invalid"
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131, "the topology epoch is invalid"
    STREAMS_TOPOLOGY_FENCED = 132, "the topology epoch is outdated"
    SHARE_SESSION_LIMIT_REACHED = 133, "no further share session can be opened", RETRY
