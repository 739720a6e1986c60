"""Settings of a topic that refuse what is produced to it, checked once for each batch by its header.

    kawal.read.only              nothing is accepted                        POLICY_VIOLATION
    kawal.codecs.allowed         only these codecs are accepted             UNSUPPORTED_COMPRESSION_TYPE
    kawal.max.partition.bytes    nothing, while a partition is that large   POLICY_VIOLATION

Clients do not repeat a request after either code.  Writes of the server itself, to its internal topics, do
not pass here.
"""

from __future__ import annotations

from broker.config.kawal_topic_keys import CODECS, CODECS_KEY, MAX_PARTITION_BYTES_KEY, READ_ONLY_KEY
from broker.config.topic_settings import TopicSettings
from broker.errors import RequestError
from broker.storage.partition import Partition
from protocol.error_codes import ErrorCode
from protocol.records import BatchHeader


def check_produce(partition: Partition, header: BatchHeader, settings: TopicSettings) -> None:
    """Refuse a (checked) batch that the topic's settings do not allow.

    Raises: RequestError, with a sentence that names the setting.
    """
    name = partition.topic.name
    if settings.kawal_read_only:
        raise RequestError(
            ErrorCode.POLICY_VIOLATION, f"topic {name!r} is read-only: {READ_ONLY_KEY.name}=true"
        )
    allowed = settings.kawal_codecs_allowed
    if allowed is not CODECS and CODECS[header.codec] not in allowed:
        raise RequestError(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
            f"the batch is compressed with {CODECS[header.codec]}, and topic {name!r} allows only"
            f" {', '.join(allowed)} ({CODECS_KEY.name}); change compression.type of the producer",
        )
    limit = settings.kawal_max_partition_bytes
    if limit >= 0 and partition.size_bytes + header.size_bytes > limit:
        raise RequestError(
            ErrorCode.POLICY_VIOLATION,
            f"partition {partition.index} of topic {name!r} holds {partition.size_bytes} bytes and"
            f" {MAX_PARTITION_BYTES_KEY.name}={limit}; records are accepted again when retention or a"
            " deletion has made room",
        )
