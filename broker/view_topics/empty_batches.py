"""The clients that move past a batch without records, which a view sends where it shows nothing.

Kafka's log cleaner leaves such batches too, so most clients cope: Java, librdkafka, franz-go, aiokafka,
kafka-python, platformatic and sarama continue after its last offset.  Clients that name no software in
ApiVersions are the exceptions:

    segmentio/kafka-go, reader    fetches with v2, v5 or v10; parses on past the batch, so it gets none
    KafkaJS                       fetches with v11 at most; stays where it was, which does no harm
    aiokafka                      the same versions; moves on

Source: the clients' code, and compat_tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from broker.loop.call import Call

NAMELESS_SINCE: Final = 11
"""The first version of Fetch in which a client that names no software gets batches without records."""


def takes_empty_batch(call: Call[Any]) -> bool:
    """Whether the client can be sent a batch without records."""
    return bool(call.connection.client_software[0]) or call.version >= NAMELESS_SINCE


def moves_over_empty_batch(call: Call[Any]) -> bool:
    """Whether the client's next fetch is sure to begin after such a batch.

    If not, the client learns of progress without records only at the end of its wait: if it were answered at
    once but stayed where it was, it would ask again at once, for ever.
    """
    return bool(call.connection.client_software[0])
