"""Which clients move on over a batch without records, as a view sends it where it shows nothing.

Kafka's log cleaner leaves such batches too, so clients cope as a rule: Java, librdkafka, franz-go, aiokafka,
kafka-python, platformatic and sarama go on behind its last offset.  The exceptions name no software in
ApiVersions:

    segmentio/kafka-go, reader    fetches with v2, v5 or v10; parses on behind the batch: gets none
    KafkaJS                       fetches with v11 at most; stays where it was, and does no harm
    aiokafka                      the same versions; moves on

Source: read in the clients (clients-wire.md finding 7, tdengine.md 8.3 b), measured by compat_tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from broker.loop.call import Call

NAMELESS_SINCE: Final = 11
"""The version of Fetch from which on a client that names no software is sent batches without records."""


def takes_empty_batch(call: Call[Any]) -> bool:
    """Whether the client can be sent a batch without records."""
    return bool(call.connection.client_software[0]) or call.version >= NAMELESS_SINCE


def moves_over_empty_batch(call: Call[Any]) -> bool:
    """Whether the client's next fetch is sure to begin behind such a batch.

    Who is not is told of progress without records only at the end of its wait: answered at once, a client
    that stays where it was would ask again at once, for ever.
    """
    return bool(call.connection.client_software[0])
